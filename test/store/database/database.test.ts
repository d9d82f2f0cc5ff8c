import { beforeAll, expect, test } from 'bun:test';
import { type Queries, type SqlInteger, StoreUnavailableError } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { onlyOn } from '../../support/only-on.ts';
import { rejection } from '../../support/rejection.ts';
import { createTarget, onEveryEngine } from '../../support/stores.ts';

type Note = { id: string; amount: number | string };

onEveryEngine('the database', (store) => {
  const onPostgres = onlyOn('postgres', store);

  beforeAll(() =>
    store.db.transaction(async (queries) => {
      await queries.run('create table notes (id text collate "binary" primary key, amount bigint not null)');
    }),
  );

  const add = (id: string, amount = 0) =>
    store.db.transaction((queries) => queries.run('insert into notes (id, amount) values ($1, $2)', [id, amount]));
  const find = (id: string) => store.db.get<Note>('select id, amount from notes where id = $1', [id]);

  test('a single read during an open transaction is not inside it', async () => {
    await store.db.transaction(async (queries) => {
      await queries.run(`insert into notes (id, amount) values ('open', 1)`);
      expect(await find('open')).toBeUndefined();
      expect(await queries.get('select id from notes where id = $1', ['open'])).toEqual({ id: 'open' });
    });
    expect(await find('open')).toBeDefined();
  });

  test('a transaction that throws is rolled back and rejects with the error, and the next one works', async () => {
    const fault = new Error('thrown in the middle');
    const failing = store.db.transaction(async (queries) => {
      await queries.run(`insert into notes (id, amount) values ('thrown', 1)`);
      throw fault;
    });
    expect(await rejection(failing)).toBe(fault);
    expect(await find('thrown')).toBeUndefined();
    await add('after-thrown');
    expect(await find('after-thrown')).toBeDefined();
  });

  test('a write that fails rolls back those before it and is not reported as an outage', async () => {
    await add('taken');
    const failing = store.db.transaction(async (queries) => {
      await queries.run(`insert into notes (id, amount) values ('beside', 1)`);
      await queries.run(`insert into notes (id, amount) values ('taken', 1)`);
    });
    expect(await rejection(failing)).not.toBeInstanceOf(StoreUnavailableError);
    await rejection(failing);
    expect(await find('beside')).toBeUndefined();
  });

  test('a snapshot shows one state, although a write commits while it is open', async () => {
    await add('moment', 1);
    await store.db.snapshot(async (queries) => {
      const read = () => queries.get<Note>(`select amount from notes where id = 'moment'`);
      const before = await read();
      await store.db.transaction((writes) => writes.run(`update notes set amount = 2 where id = 'moment'`));
      expect(await read()).toEqual(before);
      expect(Number((await find('moment'))?.amount)).toBe(2);
    });
  });

  test('a snapshot cannot write', async () => {
    const writing = store.db.snapshot((queries) => queries.run(`insert into notes (id, amount) values ('s', 1)`));
    await rejection(writing);
    expect(await find('s')).toBeUndefined();
  });

  test('parameters are bound by their number, in whatever order the text names them', async () => {
    await add('bound', 5);
    const sql = 'select id from notes where amount = $2 and id = $1 and ($2 = 5 or id = $1)';
    expect(await store.db.get(sql, ['bound', 5])).toEqual({ id: 'bound' });
    expect(await store.db.all(sql, ['bound', 6])).toEqual([]);
  });

  test('run returns how many rows it changed', async () => {
    for (const id of ['count-1', 'count-2', 'count-3']) await add(id, 77);
    const changed = await store.db.transaction((queries) =>
      queries.run('update notes set amount = 78 where amount = 77'),
    );
    expect(changed).toBe(3);
    const none = await store.db.transaction((queries) => queries.run('delete from notes where amount = 77'));
    expect(none).toBe(0);
  });

  const INSERT = 'insert into notes (id, amount) values ($1, $2)';

  test('what is sent without waiting for it is in the transaction from its first statement on, in order', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `sent-${index}`);
    const sendAll = async (queries: Queries) => {
      for (const id of ids) await queries.send(INSERT, [id, 500]);
      await queries.send('update notes set amount = amount + 1 where amount = $1', [500]);
      const rows = await queries.all<Note>('select id from notes where amount = $1', [501]);
      expect(rows).toHaveLength(ids.length);
    };
    const fault = new Error('thrown after what was sent');
    const failing = store.db.transaction(async (queries) => {
      await sendAll(queries);
      throw fault;
    });
    expect(await rejection(failing)).toBe(fault);
    expect(await find('sent-0')).toBeUndefined();
    await store.db.transaction(sendAll);
    expect(await find('sent-39')).toBeDefined();
  });

  test.each(['the commit', 'the next statement'])(
    'what is sent and refused fails %s with its own error, and nothing is stored',
    async (next) => {
      await add(`refused before ${next}`);
      let isPast = false;
      const failing = store.db.transaction(async (queries) => {
        await queries.send(INSERT, [`beside ${next}`, 1]);
        await queries.send(INSERT, [`refused before ${next}`, 1]);
        await queries.send(INSERT, [`after ${next}`, 1]);
        if (next === 'the commit') return;
        await queries.get('select id from notes where id = $1', ['x']);
        isPast = true;
      });
      const error = await rejection(failing);
      expect(error.message).toMatch(/unique/i);
      expect(error).not.toBeInstanceOf(StoreUnavailableError);
      expect(isPast).toBe(false);
      expect(await find(`beside ${next}`)).toBeUndefined();
      expect(await find(`after ${next}`)).toBeUndefined();
      await add(`works after ${next}`);
      expect(await find(`works after ${next}`)).toBeDefined();
    },
  );

  // SQLite takes as many parameters.
  onPostgres(
    'what is sent and refused before it reaches the server fails the transaction, and nothing is stored',
    async () => {
      const tooMany = Array.from({ length: 70_000 }, () => 1);
      const failing = store.db.transaction(async (queries) => {
        await queries.send(INSERT, ['beside too many', 1]);
        await queries.send(
          `insert into notes (id, amount) select 'many', 1 where 1 in (${tooMany.map((_, at) => `$${at + 1}`)})`,
          tooMany,
        );
      });
      await rejection(failing);
      expect(await find('beside too many')).toBeUndefined();
    },
  );

  // On SQLite the one after it succeeds.
  onPostgres('of statements that are asked for together, the one that failed says why the others did', async () => {
    const errors: string[] = [];
    const failing = store.db.transaction(async (queries) => {
      const statements = ['select 1 as no', 'select 1 / 0 as no', 'select 2 as no'].map((sql) => queries.get(sql));
      for (const outcome of await Promise.allSettled(statements)) {
        errors.push(outcome.status === 'rejected' ? outcome.reason.message : outcome.status);
      }
      await statements[2];
    });
    expect((await rejection(failing)).message).toBe('division by zero');
    expect(errors).toEqual(['fulfilled', 'division by zero', 'division by zero']);
  });

  test('a list of rows has every text, number and null as it was given', async () => {
    const { dialect } = store.db;
    const texts = [
      '',
      'null',
      'NULL',
      '"',
      '\\',
      '\\"',
      '{a,b}',
      ' , ',
      'é 💶',
      'line\nline\ttab',
      null,
      "o'clock",
      '$1',
    ];
    const types = ['bigint', 'text', 'bigint'];
    const rows = texts.map((text, index) => [index, text, index % 2 === 0 ? null : -index]);
    for (const given of [rows, rows.slice(0, 1)]) {
      const found = await store.db.all<{ no: SqlInteger; text: string | null; sign: SqlInteger | null }>(
        `with listed (no, text, sign) as (${dialect.rowList.text(types, given.length)}) select * from listed order by no`,
        dialect.rowList.bind(types, given.flat()),
      );
      expect(found.map(({ no, text, sign }) => [Number(no), text, sign === null ? null : Number(sign)])).toEqual(given);
    }
  });

  test('the largest exact integer is returned as it was stored', async () => {
    await add('large', Number.MAX_SAFE_INTEGER);
    expect(Number((await find('large'))?.amount)).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('text keys are ordered by their bytes, whatever the locale of the engine', async () => {
    const ids = ['~z', '_z', 'az', 'aZ', 'Az', '-z', '0z', 'a-z', 'a_z', 'éz'];
    for (const id of ids) await add(id, 99);
    const rows = await store.db.all<{ id: string }>('select id from notes where amount = 99 order by id');
    const byBytes = [...ids].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect(rows.map(({ id }) => id)).toEqual(byBytes);
  });

  test('transactions that start together all commit', async () => {
    await Promise.all(Array.from({ length: 50 }, (_, index) => add(`together-${index}`, 1234)));
    const rows = await store.db.all('select id from notes where amount = 1234');
    expect(rows).toHaveLength(50);
  });

  test('of transactions that start together one may fail without affecting the others', async () => {
    const write = (id: string, fails: boolean) =>
      store.db.transaction(async (queries) => {
        await queries.run('insert into notes (id, amount) values ($1, 1)', [id]);
        if (fails) throw new Error(`${id} fails`);
        return id;
      });
    const ids = ['beside-1', 'beside-2', 'beside-3'];
    const outcomes = await Promise.allSettled(ids.map((id) => write(id, id.endsWith('2'))));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    const rows = await store.db.all<{ id: string }>(`select id from notes where id like 'beside-%' order by id`);
    expect(rows.map(({ id }) => id)).toEqual(['beside-1', 'beside-3']);
  });

  test('a call after the store was closed is unavailable', async () => {
    const { target, remove } = await createTarget(store.engine);
    const db = await openDatabase(target);
    await db.close();
    expect(await rejection(db.get('select 1 as up'))).toBeInstanceOf(StoreUnavailableError);
    remove();
  });
});
