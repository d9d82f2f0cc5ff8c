import type { Database } from '../../src/store/database/database.ts';
import { readInteger } from '../../src/store/database/sql.ts';
import { redeliveryKey } from '../../src/store/deliveries/redeliver/bulk.ts';
import { findDueEntities, type Stepped, stepNext, stepTask } from '../../src/store/tasks/run.ts';
import { alteredStore } from './stores.ts';

const MAX_ROUNDS = 1_000;

/** Steps every task now, and then until each waits or none is left. Returns what the steps led to. */
export async function runTasks(db: Database): Promise<Stepped[]> {
  const steps: Stepped[] = [];
  await db.transaction((queries) => queries.run('update tasks set wait_ms = 0'));
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const before = steps.length;
    for (const entity of await findDueEntities(db)) {
      const stepped = await stepNext(db, entity);
      if (stepped?.failure != null) throw stepped.failure.error;
      if (stepped !== null) steps.push(stepped);
    }
    if (steps.length === before) return steps;
  }
  throw new Error('the tasks have no end');
}

export function countTasks(db: Database): Promise<number> {
  return readInteger(db, 'count(*)', 'from tasks');
}

/** One step of a bulk redelivery; returns whether more follow. */
export async function continueRedelivery(
  db: Database,
  entityId: string,
  redeliveryId: string,
  limits: { readonly searched?: number } = {},
): Promise<boolean> {
  const dialect = { ...db.dialect, limits: { ...db.dialect.limits, ...limits } };
  const task = { kind: 'redeliver' as const, subject: redeliveryKey(dialect, redeliveryId) };
  const stepped = await stepTask(limits.searched === undefined ? db : alteredStore(db, { dialect }), entityId, task);
  return stepped?.isDone === false;
}
