import { expect, test } from 'bun:test';
import { SQL } from 'bun';
import { hashOfUuid, ShardMap } from '../../../../src/store/database/citus/shard-map.ts';
import { createPostgresDatabase } from '../../../support/postgres.ts';

const ENTITY = '0190163d8694739baea5966c26f8ad01';

test('the hash of a uuid is the one by which PostgreSQL distributes rows', async () => {
  const sql = new SQL(await createPostgresDatabase(), { max: 1 });
  const given = ['0'.repeat(32), 'f'.repeat(32), ENTITY];
  for (let index = 0; index < 200; index++) given.push(crypto.randomUUID());
  const rows = await sql.unsafe(
    `select uuid_hash(cast(given as uuid)) as hash from unnest(cast($1 as text[])) with ordinality as list (given, no) order by no`,
    [`{${given.join(',')}}`],
  );
  await sql.close();
  expect(given.map(hashOfUuid)).toEqual(rows.map(({ hash }: { hash: number }) => hash));
});

test('an entity is on the worker of the shard whose range has its hash', () => {
  const hash = hashOfUuid(ENTITY) ?? 0;
  const map = ShardMap.of([
    { from: hash + 1, worker: 'later:5432' },
    { from: -2_147_483_648, worker: 'first:5432' },
    { from: hash, worker: 'own:5432' },
  ]);
  expect(map.workerOf(ENTITY)).toBe('own:5432');
  expect(map.workerOf('0190163d-8694-739b-aea5-966c26f8ad01')).toBe('own:5432');
  expect(map.workers.toSorted()).toEqual(['first:5432', 'later:5432', 'own:5432']);
});

test('rows on the coordinator, values that name no entity and an empty map have no worker', () => {
  expect(ShardMap.of([{ from: -2_147_483_648, worker: null }]).workerOf(ENTITY)).toBe(null);
  const map = ShardMap.of([{ from: -2_147_483_648, worker: 'only:5432' }]);
  expect([undefined, null, 7, 'ent_1', ''].map((value) => map.workerOf(value))).toEqual(Array(5).fill(null));
  expect(ShardMap.of([]).workerOf(ENTITY)).toBe(null);
});
