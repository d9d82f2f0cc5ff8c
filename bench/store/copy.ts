import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Copied } from '../../src/store/copy/copy.ts';
import type { Database } from '../../src/store/database/database.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { createTenant } from '../../test/support/api.ts';
import { TEST_SECRET_KEY } from '../../test/support/command-line.ts';
import { createPostgresDatabase, stopPostgres } from '../harness/postgres.ts';
import { fillDeliveries } from './many-deliveries.ts';

/**
 * Copies a SQLite store with many deliveries, of which one in twenty waits, into PostgreSQL on the same machine: how long it takes, and
 * how much of the CPU and memory. `npx bun bench/store/copy.ts [deliveries]`.
 */

const DELIVERIES = Number(process.argv[2] ?? 1_000_000);
/** Some of them are to a webhook whose deliveries have all failed. */
const WAITING_PER_MILLE = 53;
const MAIN = resolve(import.meta.dir, '../../src/main.ts');

type Result = Copied & { readonly durationMs: number };

async function build(file: string): Promise<void> {
  const db = await openDatabase({ engine: 'sqlite', file });
  await migrate(db);
  const { entityId } = await createTenant(db);
  await fillDeliveries(db, entityId, DELIVERIES, () => undefined, WAITING_PER_MILLE);
  await db.checkpoint();
  await db.close();
}

async function copy(file: string, url: string): Promise<{ result: Result; cpuS: number; memoryMiB: number }> {
  const child = Bun.spawn([process.execPath, MAIN, 'copy', '--from', `sqlite:${file}`, '--to', url, '--json'], {
    env: { PATH: process.env.PATH ?? '', SECRET_KEY: TEST_SECRET_KEY },
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const result = JSON.parse(await child.stdout.text()) as Result;
  await child.exited;
  const usage = child.resourceUsage();
  return { result, cpuS: Number(usage?.cpuTime.total ?? 0) / 1e6, memoryMiB: (usage?.maxRSS ?? 0) / 2 ** 20 };
}

const count = async (db: Database, table: string) =>
  Number((await db.longReads.get<{ rows: number | string }>(`select count(*) as rows from ${table}`))?.rows);

const folder = mkdtempSync(join(tmpdir(), 'paybell-copy-'));
try {
  const file = join(folder, 'paybell.db');
  await build(file);
  console.log(`built: ${DELIVERIES} deliveries, ${Math.round(statSync(file).size / 2 ** 20)} MiB`);
  const url = await createPostgresDatabase();
  const { result, cpuS, memoryMiB } = await copy(file, url);
  const seconds = result.durationMs / 1_000;
  console.log(
    `copied and compared ${result.rows} rows in ${seconds.toFixed(1)} s, ${Math.round(result.rows / seconds)} a second`,
  );
  console.log(`CPU of the command ${cpuS.toFixed(1)} s, its memory ${Math.round(memoryMiB)} MiB at most`);
  const db = await openDatabase({ engine: 'postgres', url });
  console.log(`waiting in PostgreSQL: ${await count(db, 'queue')}, complete: ${await count(db, 'deliveries')}`);
  await db.close();
} finally {
  await stopPostgres();
  rmSync(folder, { recursive: true, force: true });
}
