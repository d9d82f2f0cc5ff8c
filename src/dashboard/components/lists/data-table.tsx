import { type ComponentChildren, Fragment } from 'preact';
import { Time } from '../values/time.tsx';
import { SortHead } from './sort-head.tsx';
import type { ListState } from './use-list.ts';

/**
 * The width of the table below which a column is hidden, widest first. The sizes are in data-table.css. The column that
 * people need most has the smallest size.
 */
export type NarrowSize = 'widest' | 'wide' | 'medium' | 'small' | 'tiny';

type Narrow<Row> = {
  readonly below: NarrowSize;
  /**
   * The line in the main column that replaces the hidden column: its cell, or another form. Absent if nothing replaces
   * it.
   */
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

type NumberOptions<Row> = Partial<Pick<Column<Row>, 'width' | 'narrowWidth' | 'sort' | 'title'> & Narrow<Row>>;

/** A column whose cells are numbers. */
export function numberColumn<Row>(
  name: string,
  header: string,
  cell: Column<Row>['cell'],
  { below, line, ...more }: NumberOptions<Row> = {},
): Column<Row> {
  const narrow = below === undefined ? {} : { narrow: { below, ...(line !== undefined && { line }) } };
  return { name, header, cell, width: '7.5rem', align: 'end', ...narrow, ...more };
}

/** The column of `dateCreated`, under the header that the list gives it. */
export function createdColumn<Row extends { readonly dateCreated: number }>(
  header: string,
  more: Partial<Column<Row>> = {},
): Column<Row> {
  const cell = ({ dateCreated }: Row) => <Time seconds={dateCreated} />;
  return { name: 'dateCreated', header, width: '7.5rem', cell, ...more };
}

type DataTableProps<Row> = {
  /** The class of the table. */
  name: string;
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string | number;
  /** Whether other rows are loading. */
  busy?: boolean;
  /** The state of a list that can be sorted. */
  list?: Sorting;
  rowId?: (row: Row) => string;
  rowClass?: (row: Row) => string;
  /** Stands below a row, in its whole width. */
  detail?: (row: Row) => { readonly class: string; readonly content: ComponentChildren } | null;
};

type Sorting = Pick<ListState, 'query' | 'byDefault'>;

const UNSORTED: Sorting = { query: new URLSearchParams(), byDefault: { field: '', dir: 'asc' } };

/** A list of things. Its columns are declared once, with the form that each takes on a phone. */
export function DataTable<Row>({ columns, rows, keyOf, busy = false, ...props }: DataTableProps<Row>) {
  const { name, caption, list = UNSORTED, rowId, rowClass, detail = () => null } = props;
  return (
    <div class="table-frame data-table-frame">
      <table class={`table data-table ${name}`} aria-busy={busy}>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.name} column={column} list={list} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Fragment key={keyOf(row)}>
              <tr id={rowId?.(row)} class={rowClass?.(row)}>
                {columns.map((column) => (
                  <td key={column.name} class={classOf(column)}>
                    {column.cell(row)}
                    {column.width === 'rest' ? <Lines columns={columns} row={row} /> : null}
                  </td>
                ))}
              </tr>
              <Detail detail={detail(row)} columns={columns.length} />
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}

type DetailProps = { detail: { class: string; content: ComponentChildren } | null; columns: number };

function Detail({ detail, columns }: DetailProps) {
  if (detail === null) return null;
  return (
    <tr class={`row-detail ${detail.class}`}>
      <td colSpan={columns}>{detail.content}</td>
    </tr>
  );
}

function Head<Row>({ column, list }: { column: Column<Row>; list: Sorting }) {
  const { name, header, sort, title, width, narrowWidth, isHeaderHidden = false } = column;
  const style = width === 'rest' ? {} : { '--width': width, '--narrow-width': narrowWidth ?? width };
  if (sort !== undefined)
    return <SortHead {...{ name, header, style, list }} firstDir={sort} class={classOf(column)} />;
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

/** Copies of the columns that a narrow screen hides. A style shows a copy when its column is hidden. */
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
