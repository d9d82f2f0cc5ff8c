import { parseArgs } from 'node:util';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { stopPostgres } from '../support/postgres.ts';
import { createTarget, ENGINES, type Engine } from '../support/stores.ts';
import { FuzzRun } from './fuzz-run.ts';
import { fireRaw } from './raw-run.ts';
import { inProcess, overSocket } from './transports.ts';

/**
 * `npm run fuzz -- --requests 50000 --seed 7` sends a quarter of the requests each in process and over a socket, on SQLite
 * and on PostgreSQL. `--raw 36000` then sends as many requests with bytes changed at random. Exits with 1 at the first
 * response that differs from the OpenAPI document, or is a 5xx other than 501 and 505.
 */

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '50000' },
    raw: { type: 'string', default: '0' },
    seed: { type: 'string' },
  },
});
const requests = Number(values.requests);
const seed = Number(values.seed ?? Math.trunc(Math.random() * 0x7fffffff));
const TRANSPORTS = { 'in process': inProcess, 'over a socket': overSocket };

async function fuzz(engine: Engine): Promise<void> {
  const { target, remove } = await createTarget(engine);
  const db = await openDatabase(target);
  await migrate(db);
  for (const [name, transport] of Object.entries(TRANSPORTS)) {
    await using run = await FuzzRun.start(db, transport);
    await run.fire(Math.ceil(requests / ENGINES.length / 2), seed);
    const byStatus = Object.groupBy(run.statuses, ([key]) => key.split(' ').at(-1) ?? '');
    const counts = Object.entries(byStatus).map(
      ([status, all = []]) => `${status}: ${all.reduce((sum, [, count]) => sum + count, 0)}`,
    );
    console.log(
      `${engine}, ${name}: ${run.sent} sent, ${run.unsendable} not sendable, no wrong response (${counts.join(', ')})`,
    );
  }
  const raw = Math.ceil(Number(values.raw) / ENGINES.length);
  if (raw > 0) {
    const counts = [...(await fireRaw(db, raw, seed))].map(([status, count]) => `${status}: ${count}`);
    console.log(`${engine}, changed bytes: ${raw} sent, no 5xx but 501 or 505 (${counts.join(', ')})`);
  }
  await db.close();
  remove();
}

console.log(`seed ${seed}`);
let exitCode = 0;
try {
  for (const engine of ENGINES) await fuzz(engine);
} catch (error) {
  console.error(error instanceof Error ? `${error.message}\n${String(error.cause ?? '')}` : error);
  exitCode = 1;
} finally {
  await stopPostgres();
}
process.exit(exitCode);
