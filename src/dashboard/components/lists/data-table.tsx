import type { ComponentChildren } from 'preact';
import { SortHead, type SortOrder } from './sort-head.tsx';

/**
 * The width of the table below which a column gives up its place, widest first. The sizes are in data-table.css. A column
 * that people look for most has the smallest size.
 */
export type NarrowSize = 'wide' | 'medium' | 'small' | 'tiny';

type Narrow<Row> = {
  readonly below: NarrowSize;
  /** A line in the main column takes the place of the column: its cell, or another form. Without one, nothing does. */
  readonly line?: 'cell' | ((row: Row) => ComponentChildren);
};

export type Column<Row> = {
  /** A word that is unique in the table. */
  readonly name: string;
  readonly header: string;
  /** Only screen readers get the header. */
  readonly isHeaderHidden?: boolean;
  readonly title?: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** `rest`: the main column, which takes the remaining width and holds the lines of other columns. */
  readonly width: 'rest' | `${number}rem`;
  /** The width on a phone. */
  readonly narrowWidth?: `${number}rem`;
  readonly align?: 'end';
  /** The first direction of a column that can be sorted by the API's field of the same name. */
  readonly sort?: 'asc' | 'desc';
  readonly narrow?: Narrow<Row>;
};

type DataTableProps<Row> = {
  /** The class of the table. */
  name: string;
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string | number;
  /** Whether other rows are loading. */
  busy?: boolean;
  /** The query of the URL, which holds the sort order. */
  query: URLSearchParams;
  byDefault?: SortOrder;
  rowId?: (row: Row) => string;
  rowClass?: (row: Row) => string;
};

/** A list of things. Its columns are declared once, with the form that each takes on a phone. */
export function DataTable<Row>({ columns, rows, keyOf, busy = false, ...props }: DataTableProps<Row>) {
  const { name, caption, query, byDefault, rowId, rowClass } = props;
  return (
    <div class="table-frame data-table-frame">
      <table class={`table data-table ${name}`} aria-busy={busy}>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.name} {...{ column, query }} {...(byDefault !== undefined && { byDefault })} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} id={rowId?.(row)} class={rowClass?.(row)}>
              {columns.map((column) => (
                <td key={column.name} class={classOf(column)}>
                  {column.cell(row)}
                  {column.width === 'rest' ? <Lines columns={columns} row={row} /> : null}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

type HeadProps<Row> = { column: Column<Row>; query: URLSearchParams; byDefault?: SortOrder };

function Head<Row>({ column, query, byDefault }: HeadProps<Row>) {
  const { name, header, sort, title, width, narrowWidth, isHeaderHidden = false } = column;
  const style = width === 'rest' ? {} : { '--width': width, '--narrow-width': narrowWidth ?? width };
  if (sort !== undefined) {
    return (
      <SortHead
        {...{ query, style }}
        field={name}
        label={header}
        firstDir={sort}
        class={classOf(column)}
        {...(byDefault !== undefined && { byDefault })}
      />
    );
  }
  return (
    <th scope="col" class={classOf(column)} title={title} style={style}>
      {isHeaderHidden ? <span class="visually-hidden">{header}</span> : header}
    </th>
  );
}

function classOf<Row>({ name, narrow, align }: Column<Row>): string {
  const classes = [`column-${name}`, align === 'end' ? 'align-end' : '', narrow ? `not-${narrow.below}` : ''];
  return classes.filter((each) => each !== '').join(' ');
}

/** The columns that have no place of their own on a narrow screen. A style shows each when its column is hidden. */
function Lines<Row>({ columns, row }: { columns: readonly Column<Row>[]; row: Row }) {
  return (
    <>
      {columns.map(({ name, narrow, cell }) =>
        narrow?.line === undefined ? null : (
          <div key={name} class={`row-line only-${narrow.below}`}>
            {narrow.line === 'cell' ? cell(row) : narrow.line(row)}
          </div>
        ),
      )}
    </>
  );
}
