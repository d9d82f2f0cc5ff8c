import type { Dialect, SqlValue } from './database.ts';
import {
  type Column,
  Columns,
  type Parameters,
  type Shape,
  takesArrays,
  textByRows,
  type Values,
  valuesList,
} from './sql.ts';

type Range = { readonly from?: number | undefined; readonly before?: number | undefined };
/** A condition on a column: a value, one of several values, or a range; null stands for `is null`. */
type Condition<Value> = Value | readonly Value[] | ([Value] extends [number | null] ? Range : never) | undefined;
type StoredName<S extends Shape> = { [Name in keyof S]: S[Name] extends { isStored: true } ? Name : never }[keyof S];
type Conditions<S extends Shape> = { readonly [Name in StoredName<S>]?: Condition<Values<S>[Name]> };

/** The columns of a table, declared once for selects, conditions and inserts. */
export class Table<S extends Shape> extends Columns<S> {
  constructor(
    readonly name: string,
    shape: S,
  ) {
    super(shape);
  }

  pick<Name extends keyof S>(names: readonly Name[]): Columns<Pick<S, Name>> {
    return new Columns(Object.fromEntries(names.map((name) => [name, this.shape[name]])) as Pick<S, Name>);
  }

  /** The names of all stored columns except `but`, which the database fills or a later step sets. */
  namesBut<Name extends keyof S = never>(...but: readonly Name[]): Exclude<StoredName<S>, Name>[] {
    const left = Object.entries(this.shape).filter(([name, { isStored }]) => isStored && !but.includes(name as Name));
    return left.map(([name]) => name as Exclude<StoredName<S>, Name>);
  }

  /** The given conditions, joined by `and`. An undefined value sets no condition. */
  where(parameters: Parameters, conditions: Conditions<S>): string {
    const given: Readonly<Record<string, unknown>> = conditions;
    const written: string[] = [];
    for (const name in given) writeCondition(written, this.columnOf(name), parameters, given[name]);
    return written.length === 0 ? '1 = 1' : written.join(' and ');
  }

  /** `insert into webhooks (id, …) values …`, for rows that have these properties. */
  insertion<Name extends StoredName<S>>(names: readonly Name[]): Insertion<NewRow<Pick<Values<S>, Name>>> {
    const columns = names.map((name) => this.columnOf(name)).join(', ');
    return {
      text: textByRows((rows) => `insert into ${this.name} (${columns}) values ${valuesList(rows, names.length)}`),
      parameters: (rows: readonly { [Given in Name]?: Values<S>[Given] | undefined }[]) => {
        const values: SqlValue[] = [];
        for (const row of rows) for (const name of names) values.push(encode(this.shape[name], row[name]));
        return values;
      },
    };
  }

  /**
   * Like `insertion`, for many rows of texts and numbers. PostgreSQL gets an array for each column: with thousands of parameters,
   * the client spent as long on them as on everything else about the rows.
   */
  bulkInsertion<Name extends StoredName<S>>(names: readonly Name[]): BulkInsertion<NewRow<Pick<Values<S>, Name>>> {
    const { text: plainText, parameters } = this.insertion(names);
    const types = names.map((name) => (this.shape[name]?.decode === Number ? 'bigint' : 'text'));
    const columns = names.map((name) => this.columnOf(name)).join(', ');
    return {
      text: (dialect, rows) =>
        takesArrays(dialect)
          ? `insert into ${this.name} (${columns}) ${dialect.rowList.text(types, rows)}`
          : plainText(rows),
      parameters: (dialect, rows) =>
        takesArrays(dialect) ? dialect.rowList.bind(types, parameters(rows)) : parameters(rows),
    };
  }

  columnOf(name: keyof S): string {
    return this.shape[name]?.sql ?? '';
  }
}

/** A row to insert. Nullable columns may be left out. */
type NewRow<Row> = { [Name in keyof Row]?: Row[Name] | undefined } & {
  [Name in keyof Row as null extends Row[Name] ? never : Name]: Row[Name];
};

export type RowToInsert<Of> = Of extends Insertion<infer Row> ? Row : never;

export type Insertion<Row> = {
  readonly text: (rows: number) => string;
  readonly parameters: (rows: readonly Row[]) => SqlValue[];
};

export type BulkInsertion<Row> = {
  readonly text: (dialect: Dialect, rows: number) => string;
  readonly parameters: (dialect: Dialect, rows: readonly Row[]) => readonly SqlValue[];
};

function encode(column: Column<unknown> | undefined, value: unknown): SqlValue {
  if (value === null || value === undefined) return null;
  return column?.encode === undefined ? (value as SqlValue) : column.encode(value);
}

function writeCondition(written: string[], column: string, parameters: Parameters, condition: unknown): void {
  if (condition === undefined) return;
  if (condition === null) written.push(`${column} is null`);
  else if (Array.isArray(condition)) written.push(`${column} in ${parameters.list(condition)}`);
  else if (typeof condition === 'object' && !(condition instanceof Uint8Array)) {
    const { from, before } = condition as Range;
    if (from !== undefined) written.push(`${column} >= ${parameters.bind(from)}`);
    if (before !== undefined) written.push(`${column} < ${parameters.bind(before)}`);
  } else written.push(`${column} = ${parameters.bind(condition as SqlValue)}`);
}
