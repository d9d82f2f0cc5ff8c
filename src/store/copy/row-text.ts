import type { DatabaseTarget } from '../../config/database-target.ts';
import type { SqlValue } from '../database/database.ts';
import type { ColumnKind, CopiedColumn, CopiedTable } from './tables.ts';

/** SQL expressions that write a row as text, and conditions for the rows between two keys. */

type Engine = DatabaseTarget['engine'];

/** The values of the columns of a key, with the 32 hex digits of a uuid. */
export type Key = readonly (string | number)[];

/** Rows after one key and up to another. A bound of null leaves the range open. */
export type KeyRange = { readonly after: Key | null; readonly upTo: Key | null };

/** 32 hex digits in lower case, or null. */
const HEX: Readonly<Record<Engine, (column: string) => string>> = {
  sqlite: (column) => `case when ${column} is null then null else lower(hex(${column})) end`,
  postgres: (column) => `replace(cast(${column} as text), '-', '')`,
};

/** A row as an object with each column under its name, for PostgreSQL's `json_to_recordset`. SQLite only. */
export function jsonOfRow({ columns }: CopiedTable): string {
  return `json_object(${columns.map((column) => `'${column.name}', ${jsonValue(column)}`).join(', ')})`;
}

/** The key as a JSON array. SQLite only. */
export function jsonOfKey({ key }: CopiedTable): string {
  return `json_array(${key.map(jsonValue).join(', ')})`;
}

function jsonValue({ name, kind }: CopiedColumn): string {
  return kind === 'uuid' ? HEX.sqlite(`"${name}"`) : `"${name}"`;
}

/**
 * Makes one text of a row, the same on both engines. Different rows have different texts: each value begins with its length, and no
 * value looks like null.
 */
export function canonicalText({ columns }: CopiedTable, engine: Engine): string {
  return columns
    .map(({ name, kind }) => `coalesce(${canonicalValue(`"${name}"`, kind, engine)}, '-')`)
    .join(` || ',' || `);
}

function canonicalValue(column: string, kind: ColumnKind, engine: Engine): string {
  if (kind === 'uuid') return HEX[engine](column);
  const text = `cast(${column} as text)`;
  return kind === 'integer' ? text : `cast(length(${column}) as text) || ':' || ${text}`;
}

/** A condition for the rows of a range, and its parameters. */
export function withinRange(
  { key }: CopiedTable,
  { after, upTo }: KeyRange,
  engine: Engine,
): { where: string; values: SqlValue[] } {
  const columns = `(${key.map(({ name }) => `"${name}"`).join(', ')})`;
  const values: SqlValue[] = [];
  const bound = (comparison: string, bounds: Key | null) => {
    if (bounds === null) return [];
    const parameters = key.map(({ kind }, index) => {
      const value = bounds[index] ?? null;
      const isBlob = kind === 'uuid' && engine === 'sqlite';
      const place = `$${values.push(isBlob ? Uint8Array.fromHex(String(value)) : value)}`;
      return engine === 'sqlite' ? place : `cast(${place} as ${TYPES[kind]})`;
    });
    return [`${columns} ${comparison} (${parameters.join(', ')})`];
  };
  const conditions = [...bound('>', after), ...bound('<=', upTo)];
  return { where: conditions.length === 0 ? '1 = 1' : conditions.join(' and '), values };
}

/** The types in PostgreSQL. Every number of the schema fits into a bigint. */
export const TYPES: Readonly<Record<ColumnKind, string>> = { text: 'text', integer: 'bigint', uuid: 'uuid' };
