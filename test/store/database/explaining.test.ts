import { expect, test } from 'bun:test';
import { explaining } from '../../../bench/store/explaining.ts';
import type { Database, Queries } from '../../../src/store/database/database.ts';
import { rejection } from '../../support/rejection.ts';

/** A PostgreSQL that answers every statement with these lines of a plan. */
function planned(...lines: string[]): Database {
  const queries = { all: async () => lines.map((line) => ({ 'QUERY PLAN': line })), get: async () => undefined };
  const withRun = { ...queries, run: async () => 0, send: async () => undefined } as unknown as Queries;
  const snapshot = <Value>(work: (given: Queries) => Promise<Value>) => work(withRun);
  return { engine: 'postgres', snapshot, longReads: { snapshot } } as unknown as Database;
}

test('the plans of the lists are printed without their costs', async () => {
  const lines: string[] = [];
  const plan = ['Limit  (cost=0.29..1.24 rows=25 width=8) (actual rows=25.00 loops=1)', '  Filter: (no = 1)'];
  const db = explaining(planned(...plan), (line) => lines.push(line));
  await db.snapshot((queries) => queries.get('select 1'));
  expect(lines).toEqual(['Limit (actual rows=25.00 loops=1)', '  Filter: (no = 1)']);
});

test('a list whose statement PostgreSQL compiles has no accepted plan', async () => {
  const db = explaining(planned('Limit  (cost=0.29..1.24 rows=25 width=8)', 'JIT:', '  Functions: 4'), () => undefined);
  const error = await rejection(db.snapshot((queries) => queries.get('select 1 as one')));
  expect(error).toMatchObject({
    message: expect.stringContaining('PostgreSQL compiled a statement:\nselect 1 as one'),
  });
});
