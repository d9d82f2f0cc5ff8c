import { describe, expect, test } from 'bun:test';
import { z } from 'zod';
import {
  awaitedChunks,
  Columns,
  constant,
  integer,
  json,
  list,
  nullable,
  type RowOf,
  readInteger,
  Parameters as SqlParameters,
  seconds,
  text,
} from '../../../src/store/database/sql.ts';
import { Table } from '../../../src/store/database/table.ts';
import { rejection } from '../../support/rejection.ts';
import { onEveryEngine } from '../../support/stores.ts';

const noteTable = new Table('notes', {
  noteId: text('id'),
  size: integer('size'),
  sizeOrNull: nullable(integer('size_or_null')),
  createdAtMs: integer('created_at_ms'),
  dateCreated: seconds('created_at_ms'),
  tags: list<'a' | 'b'>('tags'),
  extra: nullable(json('extra', z.strictObject({ deep: z.int() }))),
  prefix: constant('note_'),
});

const LARGE = Number.MAX_SAFE_INTEGER;
const ROW = {
  noteId: 'n1',
  size: LARGE,
  sizeOrNull: null,
  createdAtMs: 1_999,
  tags: ['a', 'b'],
  extra: { deep: 7 },
} satisfies Partial<RowOf<typeof noteTable>>;

describe('conditions', () => {
  type Conditions = Parameters<typeof noteTable.where>[1];

  function where(conditions: Conditions): { sql: string; values: unknown[] } {
    const parameters = new SqlParameters('first');
    return { sql: noteTable.where(parameters, conditions), values: parameters.values };
  }

  test('compare with bound parameters, numbered after those that were bound before', () => {
    expect(where({ noteId: 'n1', size: 3 })).toEqual({ sql: 'id = $2 and size = $3', values: ['first', 'n1', 3] });
  });

  test('leave out what is undefined, and are true when nothing is left', () => {
    expect(where({ noteId: undefined, size: 3 })).toEqual({ sql: 'size = $2', values: ['first', 3] });
    expect(where({ noteId: undefined, createdAtMs: {} })).toEqual({ sql: '1 = 1', values: ['first'] });
  });

  test('take null for `is null`, an array for `in`, and either end of a range', () => {
    expect(where({ sizeOrNull: null }).sql).toBe('size_or_null is null');
    expect(where({ noteId: ['n1', 'n2'] })).toEqual({ sql: 'id in ($2, $3)', values: ['first', 'n1', 'n2'] });
    expect(where({ createdAtMs: { from: 1, before: 9 } })).toEqual({
      sql: 'created_at_ms >= $2 and created_at_ms < $3',
      values: ['first', 1, 9],
    });
    expect(where({ createdAtMs: { before: 9 } }).sql).toBe('created_at_ms < $2');
  });
});

test('a list of columns names each property, with the prefix of its table', () => {
  const picked = noteTable.pick(['noteId', 'size']);
  expect(picked.list).toBe('id as "noteId", size as "size"');
  expect(picked.of('n.')).toBe('n.id as "noteId", n.size as "size"');
  expect(picked.names).toBe('id, size');
});

onEveryEngine('rows', (store) => {
  test('of any number are split without a loss, on SQLite into few sizes, since each is kept prepared', () => {
    const sizes = new Set<number>();
    for (let count = 0; count <= 300; count++) {
      const rows = Array.from({ length: count }, (_, index) => index);
      const split = [...awaitedChunks(store.db.dialect, rows)];
      expect(split.flat()).toEqual(rows);
      for (const { length } of split) sizes.add(length);
    }
    expect(sizes.size).toBe(store.engine === 'sqlite' ? 7 : 100);
  });

  async function insert(...rows: (typeof ROW)[]): Promise<void> {
    await store.db.transaction(async (queries) => {
      await queries.run(`create table if not exists notes (id text, size bigint, size_or_null bigint,
        created_at_ms bigint, tags text, extra text)`);
      await queries.run('delete from notes');
      const insertion = noteTable.insertion(['noteId', 'size', 'sizeOrNull', 'createdAtMs', 'tags', 'extra']);
      await queries.run(insertion.text(rows.length), insertion.parameters(rows));
    });
  }

  test('come back as they were inserted, with computed values beside them', async () => {
    await insert(ROW, { ...ROW, noteId: 'n2' });
    const rows = await noteTable.all(store.db, `select ${noteTable.list} from notes order by id`);
    const expected: RowOf<typeof noteTable> = { ...ROW, dateCreated: 1, prefix: 'note_' };
    expect(rows).toEqual([expected, { ...expected, noteId: 'n2' }]);
    expect(Object.keys(rows[0] ?? {})).toEqual(Object.keys(noteTable.shape));
  });

  test('decode what the statement selects by itself', async () => {
    await insert(ROW);
    const counted = new Columns({ total: integer('count(*)'), largest: nullable(integer()) });
    const sql = `select ${counted.list}, max(size) as largest from notes`;
    expect(await counted.get(store.db, sql)).toEqual({ total: 1, largest: LARGE });
    expect(await counted.get(store.db, `${sql} where id = $1`, ['none'])).toEqual({ total: 0, largest: null });
  });

  test('with JSON that the schema does not accept are an error and not a row', async () => {
    await insert(ROW);
    await store.db.transaction((queries) => queries.run('update notes set extra = $1', ['{"deep":"text"}']));
    expect(await rejection(noteTable.all(store.db, `select ${noteTable.list} from notes`))).toBeInstanceOf(z.ZodError);
  });

  test('a single number is read as such, and is 0 when there is none', async () => {
    await insert(ROW);
    expect(await readInteger(store.db, 'max(size)', 'from notes where id = $1', ['n1'])).toBe(LARGE);
    expect(await readInteger(store.db, 'max(size)', 'from notes where id = $1', ['none'])).toBe(0);
  });
});
