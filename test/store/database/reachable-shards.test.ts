import { expect, test } from 'bun:test';
import { type Database, StoreUnavailableError } from '../../../src/store/database/database.ts';
import { inOrderOf, readReachable } from '../../../src/store/database/reachable-shards.ts';
import { rejection } from '../../support/rejection.ts';

/** A worker is down: only what is asked of each shard alone gets an answer, from those that can be reached. */
function oneWorkerDown(shards: readonly string[], isDistributed = true): { db: Database; asked: string[] } {
  const asked: string[] = [];
  const db = {
    dialect: { isDistributed, hexOf: String, silentWorkers: () => [] },
    all: async (sql: string) => {
      if (!sql.includes('run_command_on')) throw new StoreUnavailableError('a worker is down');
      asked.push(sql);
      return shards.map((result) => ({ result }));
    },
  };
  return { db: db as unknown as Database, asked };
}

const select = (heads = '', queue = '') => `select 1 as found from ${heads} join ${queue}`;
const read = (db: Database) =>
  readReachable(db, (reads) => reads.all(select('queue_heads', 'queue')), { tables: ['queue_heads', 'queue'], select });

test('a read over all entities has the rows of the workers that can be reached', async () => {
  const { db, asked } = oneWorkerDown(['[{"found":1}]', '[]', '[{"found":2},{"found":3}]']);
  expect(await read(db)).toEqual([{ found: 1 }, { found: 2 }, { found: 3 }]);
  expect(asked).toHaveLength(1);
  expect(asked[0]).toContain(`run_command_on_colocated_placements('queue_heads', 'queue',`);
  expect(asked[0]).toContain('from %1$s join %2$s');
});

test('without any worker, and where the tables are not distributed, it fails like any other', async () => {
  expect(await rejection(read(oneWorkerDown([]).db))).toBeInstanceOf(StoreUnavailableError);
  expect(await rejection(read(oneWorkerDown(['[]'], false).db))).toBeInstanceOf(StoreUnavailableError);
});

test('heads of several shards are in the order of their time, their entity and their number', () => {
  const { db } = oneWorkerDown([]);
  const head = (atMs: number, entity: string, webhookNo: number) => ({ atMs, entity, webhookNo });
  const heads = [head(2, 'a', 1), head(1, 'b', 2), head(1, 'b', 1), head(1, 'a', 3)];
  const ordered = inOrderOf(db, heads, ({ atMs }) => atMs);
  expect(ordered.map(({ atMs, entity, webhookNo }) => `${atMs}${entity}${webhookNo}`)).toEqual([
    '1a3',
    '1b1',
    '1b2',
    '2a1',
  ]);
});
