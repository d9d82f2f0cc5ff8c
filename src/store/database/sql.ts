import { BoundedMap } from '../../bounded-map.ts';
import { hexIn, hexOfId } from '../../domain/ids.ts';
import type { Dialect, Queries, SqlInteger, SqlUuid, SqlValue } from './database.ts';

/** The most rows of one statement. It keeps the number of prepared texts small, and the parameters below the limit of SQLite. */
export const ROWS_PER_STATEMENT = 100;

export function* chunks<Item>(items: readonly Item[], size = ROWS_PER_STATEMENT): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

/** The largest power of two that is not above `ROWS_PER_STATEMENT`. */
const MOST_IN_POWERS = 64;

/**
 * Splits items into groups of 64, 32, … 1, for statements that run for every event. Their texts stay prepared: SQLite needs 1.5
 * KB for each row of a text, and PostgreSQL a plan on each connection. Powers of two need seven texts instead of a hundred.
 */
export function* powersOfTwo<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  let size = MOST_IN_POWERS;
  for (let start = 0; start < items.length; start += size) {
    while (size > items.length - start) size /= 2;
    yield items.slice(start, start + size);
  }
}

/**
 * Splits items into groups for a statement whose result is needed. Another statement costs SQLite only a microsecond, but costs
 * PostgreSQL a round trip, so PostgreSQL gets larger groups.
 */
export function awaitedChunks<Item>({ uuid }: Dialect, items: readonly Item[]): Generator<readonly Item[]> {
  return uuid === 'blob' ? powersOfTwo(items) : chunks(items);
}

/** Groups items by transaction: one for all entities, or one for each entity if the tables are distributed. */
export function byEntity<Item extends { readonly entityId: string }>(
  { isDistributed }: Dialect,
  items: readonly Item[],
): readonly (readonly Item[])[] {
  if (!isDistributed) return items.length === 0 ? [] : [items];
  return [...Map.groupBy(items, ({ entityId }) => entityId).values()];
}

/** How many lists are kept. Each combination of a number of rows and a number of columns has its own list. */
const MAX_LISTS = 2_000;
const lists = new BoundedMap<string, string>(MAX_LISTS);

/** `($1, $2), ($3, $4)` for two rows of two columns, numbered after the parameters `before` them. */
export function valuesList(rows: number, columns: number, before = 0, casts: readonly string[] = []): string {
  const key = `${rows} ${columns} ${before} ${casts}`;
  const known = lists.get(key);
  if (known !== undefined) return known;
  const list = writeList(rows, columns, before, casts);
  lists.set(key, list);
  return list;
}

function writeList(rows: number, columns: number, before: number, casts: readonly string[]): string {
  const row = (index: number) =>
    Array.from({ length: columns }, (_, column) => {
      const parameter = `$${before + index * columns + column + 1}`;
      const type = casts[column];
      return type === undefined ? parameter : `cast(${parameter} as ${type})`;
    }).join(', ');
  return Array.from({ length: rows }, (_, index) => `(${row(index)})`).join(', ');
}

/** The row list of an engine without arrays: one parameter for each value. */
export const listOfValues: Dialect['rowList'] = {
  text: (types, rows) => `values ${valuesList(rows, types.length, 0, types)}`,
  bind: (_, values) => values,
};

export function takesArrays({ rowList }: Dialect): boolean {
  return rowList !== listOfValues;
}

/** Keeps the texts of a statement that differ only by the number of rows, so that each is written and hashed once. */
export function textByRows(write: (rows: number) => string): (rows: number) => string {
  const texts: (string | undefined)[] = [];
  return (rows) => {
    const text = texts[rows] ?? write(rows);
    texts[rows] = text;
    return text;
  };
}

/** A growing list of parameters: `bind(value)` returns the `$n` to write into the text. */
export class Parameters {
  readonly values: SqlValue[];

  constructor(...values: SqlValue[]) {
    this.values = values;
  }

  bind(value: SqlValue): string {
    return `$${this.values.push(value)}`;
  }

  /** `($2, $3, $4)`, to be written after `in`. */
  list(values: readonly SqlValue[]): string {
    const list = valuesList(1, values.length, this.values.length);
    this.values.push(...values);
    return list;
  }
}

/** A property of a row. PostgreSQL returns its 64-bit integers as text and SQLite as numbers, so integers are decoded. */
export type Column<Value, Stored extends boolean = boolean> = {
  /** A column or an expression. Null if the statement selects the property itself, `… as "name"`. */
  readonly sql: string | null;
  readonly decode: ((stored: string | number) => Value) | null;
  /** Turns a value into what the column holds; absent if both are the same. */
  encode?(value: NonNullable<Value>): SqlValue;
  /** False for a value that is computed from a column: it can be selected, but neither compared nor inserted. */
  readonly isStored: Stored;
};

export function text<Value extends string = string>(sql: string | null = null): Column<Value, true> {
  return { sql, decode: null, isStored: true };
}

/** A key of 16 bytes in the engine's form. The dialect's `hexOf` and `bindUuid` convert it. */
export function uuid(sql: string): Column<SqlUuid, true> {
  return { sql, decode: null, isStored: true };
}

export function integer(sql: string | null = null): Column<number, true> {
  return { sql, decode: Number, isStored: true };
}

/** Milliseconds in the column, whole seconds in the row. */
export function seconds(sql: string): Column<number, false> {
  return { sql, decode: (stored) => Math.floor(Number(stored) / 1000), isStored: false };
}

/** Names separated by commas in the column, an array of them in the row. */
export function list<Name extends string>(sql: string): Column<Name[], true> {
  const decode = (stored: string | number) => String(stored).split(',') as Name[];
  return { sql, decode, encode: (names) => names.join(','), isStored: true };
}

/** JSON in the column. The row has the value that the schema parses from it, whichever release wrote the JSON. */
export function json<Value>(sql: string, schema: { parse(value: unknown): Value }): Column<Value, true> {
  const decode = (stored: string | number) => schema.parse(JSON.parse(String(stored)));
  return { sql, decode, encode: (value) => JSON.stringify(value), isStored: true };
}

/** A column with the same value in every row. */
export function constant<Value extends string>(value: Value): Column<Value, false> {
  return { sql: `'${value}'`, decode: null, isStored: false };
}

export function nullable<Value, Stored extends boolean>(column: Column<Value, Stored>): Column<Value | null, Stored> {
  return column;
}

export type Shape = Readonly<Record<string, Column<unknown>>>;

export type RowOf<Of> = Of extends Columns<infer S> ? Values<S> : never;
export type Values<S extends Shape> = { [Name in keyof S]: S[Name] extends Column<infer Value> ? Value : never };

/**
 * The columns that a statement selects. Gives the list for the statement's text, and its rows with the names and types of the
 * shape. The statement names the properties and rows are decoded in place, which is as fast as a mapper written by hand.
 */
export class Columns<S extends Shape> {
  /** `id as "webhookId", network_id as "networkId"` */
  readonly list: string;
  /** `id, network_id`: for a select within a select, where rows still have the names of the table. */
  readonly names: string;
  readonly #decoded: readonly { readonly name: string; readonly decode: (stored: string | number) => unknown }[];

  constructor(readonly shape: S) {
    this.list = this.of('');
    this.names = Object.values(shape)
      .flatMap(({ sql }) => sql ?? [])
      .join(', ');
    this.#decoded = Object.entries(shape).flatMap(([name, { decode }]) => (decode === null ? [] : { name, decode }));
  }

  /** The list for a table with an alias: `of('w.')` is `w.id as "webhookId", …`. For plain columns only. */
  of(prefix: string): string {
    return Object.entries(this.shape)
      .flatMap(([name, { sql }]) => (sql === null ? [] : `${prefix}${sql} as "${name}"`))
      .join(', ');
  }

  async all(queries: Pick<Queries, 'all'>, sql: string, params?: readonly SqlValue[]): Promise<Values<S>[]> {
    const rows = await queries.all<Record<string, SqlValue>>(sql, params);
    for (const row of rows) this.#decode(row);
    return rows as Values<S>[];
  }

  async get(queries: Pick<Queries, 'get'>, sql: string, params?: readonly SqlValue[]): Promise<Values<S> | undefined> {
    const row = await queries.get<Record<string, SqlValue>>(sql, params);
    if (row !== undefined) this.#decode(row);
    return row as Values<S> | undefined;
  }

  /**
   * The rows with these keys, read with several statements if there are many. A key of several columns is an array. `from` ends
   * before the list of keys: `from webhooks where entity_id = $1 and id in`.
   */
  async allIn(
    queries: Pick<Queries, 'all'>,
    from: string,
    params: readonly SqlValue[],
    keys: readonly (SqlValue | readonly SqlValue[])[],
    tail = '',
  ): Promise<Values<S>[]> {
    const found: Values<S>[] = [];
    for (const chunk of chunks([...new Set(keys)])) {
      const [first] = chunk;
      const list = Array.isArray(first)
        ? `(values ${valuesList(chunk.length, first.length, params.length)})`
        : valuesList(1, chunk.length, params.length);
      const values = [...params, ...(chunk.flat() as SqlValue[])];
      found.push(...(await this.all(queries, `select ${this.list} ${from} ${list} ${tail}`, values)));
    }
    return found;
  }

  #decode(row: Record<string, unknown>): void {
    for (const { name, decode } of this.#decoded) {
      const stored = row[name];
      // SQLite returns integers as numbers, and storing them in the row again would only cost time.
      if (stored === null || (decode === Number && typeof stored === 'number')) continue;
      row[name] = decode(stored as string | number);
    }
  }
}

/** The one number that a statement returns, or 0. */
export async function readInteger(
  queries: Pick<Queries, 'get'>,
  expression: string,
  from = '',
  params?: readonly SqlValue[],
): Promise<number> {
  const row = await queries.get<{ value: number | string | null }>(`select ${expression} as value ${from}`, params);
  return Number(row?.value ?? 0);
}

/** Plans the statements of this transaction that read the queue (see `Dialect`), and returns the database's clock. */
export async function planForClaims(queries: Pick<Queries, 'get'>, dialect: Dialect): Promise<number> {
  const clock = await queries.get<{ now_ms: SqlInteger }>(dialect.planForClaims);
  const readMs = Number(clock?.now_ms ?? 0);
  dialect.leaseClock.note(readMs);
  return readMs;
}

/** How many keys are kept. In the tables of deliveries, an entity and an event id have a key of 16 bytes. */
const MAX_KEYS = 10_000;
const keys = { uuid: new BoundedMap<string, SqlUuid>(MAX_KEYS), blob: new BoundedMap<string, SqlUuid>(MAX_KEYS) };

/** The key of an entity: the 16 bytes of an id that Paybell made, or a hash of any other id. */
export function entityKey({ uuid, bindUuid }: Dialect, entityId: string): SqlUuid {
  const known = keys[uuid].get(entityId);
  if (known !== undefined) return known;
  const key = bindUuid(hexOfId('ent', entityId) ?? hash128(entityId));
  keys[uuid].set(entityId, key);
  return key;
}

/** `entity_id` and `id` of a delivery. */
export function deliveryKey(
  dialect: Dialect,
  { entityId, deliveryId }: { readonly entityId: string; readonly deliveryId: string },
): [SqlUuid, SqlUuid] {
  return [entityKey(dialect, entityId), dialect.bindUuid(hexIn(deliveryId))];
}

/** The key under which the event ids that callers choose are unique. */
export function eventIdKey(dialect: Dialect, eventId: string): SqlUuid {
  return hashKey(dialect, eventId);
}

/**
 * 32 bits of a hash of an id in a payload, to find the id's events. Different ids may share them, so matches are compared with
 * the id itself.
 */
export function subjectKey(subject: string | null | undefined): number | null {
  return subject == null ? null : Bun.hash.crc32(subject) | 0;
}

/** 16 bytes for a text of any length. */
export function hashKey({ bindUuid }: Dialect, text: string): SqlUuid {
  return bindUuid(hash128(text));
}

function hash128(text: string): string {
  return Bun.SHA256.hash(text, 'hex').slice(0, 32);
}
