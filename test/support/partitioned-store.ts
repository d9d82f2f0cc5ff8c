import type { Database } from '../../src/store/database/database.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { makeAhead } from '../../src/store/database/partitions/ahead.ts';
import { partitionTables } from '../../src/store/database/partitions/convert.ts';
import { DAY_MS, readLayout, startOfDay } from '../../src/store/database/partitions/layout.ts';
import { databaseNowMs } from './deliveries.ts';
import { createPostgresDatabase, listenUrlOf, TEST_DEADLINE_MS } from './postgres.ts';

/** A store on PostgreSQL with the current schema, whose tables are not partitioned. */
export async function openPlainStore(): Promise<Database> {
  const url = await createPostgresDatabase({ isEmpty: true });
  const db = await openDatabase({ engine: 'postgres', url, listenUrl: listenUrlOf(url), deadlineMs: TEST_DEADLINE_MS });
  await migrate(db);
  return db;
}

/** A partitioned store with days of its own for the ten days from the start of `firstDayMs` on, the first days from now without. */
export async function openPartitionedStore(): Promise<{ db: Database; firstDayMs: number }> {
  const db = await openPlainStore();
  await partitionTables(db);
  await makeAhead(db);
  const todayMs = startOfDay(await databaseNowMs(db));
  await makeAhead(db, { nowMs: todayMs + 6 * DAY_MS });
  return { db, firstDayMs: todayMs + 3 * DAY_MS };
}

/** The names of all partitions but the default ones, without the name of their table. */
export async function attachedTo(db: Database, table: 'events' | 'deliveries' | 'attempts'): Promise<string[]> {
  const { partitions } = await readLayout(db);
  return partitions.filter((days) => days.table === table && days.isAttached).map(({ suffix }) => suffix);
}
