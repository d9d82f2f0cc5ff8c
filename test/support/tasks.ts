import type { Database } from '../../src/store/database/database.ts';
import { readInteger } from '../../src/store/database/sql.ts';
import { findDueEntities, type Stepped, stepNext } from '../../src/store/tasks/run.ts';

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
