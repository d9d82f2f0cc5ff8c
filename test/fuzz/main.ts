import { parseArgs } from 'node:util';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { stopPostgres } from '../support/postgres.ts';
import { createTarget, ENGINES, type Engine } from '../support/stores.ts';
import { FuzzRun } from './fuzz-run.ts';
import { intoTheApp, throughASocket } from './sequences.ts';

/**
 * The long form: `npm run fuzz -- --requests 50000 --seed 7`. A quarter of the requests each goes into the app and through
 * a socket, on SQLite and on PostgreSQL. Exits 1 at the first answer that is not what the document says.
 */

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '50000' }, seed: { type: 'string' } },
});
const requests = Number(values.requests);
const seed = Number(values.seed ?? Math.trunc(Math.random() * 0x7fffffff));
const ROADS = { 'into the app': intoTheApp, 'through a socket': throughASocket };

async function fuzz(engine: Engine): Promise<void> {
  const { target, remove } = await createTarget(engine);
  const db = await openDatabase(target);
  await migrate(db);
  for (const [name, road] of Object.entries(ROADS)) {
    await using run = await FuzzRun.start(db, road);
    await run.fire(Math.ceil(requests / ENGINES.length / 2), seed);
    const byStatus = Object.groupBy(run.statuses, ([key]) => key.split(' ').at(-1) ?? '');
    const counts = Object.entries(byStatus).map(
      ([status, all = []]) => `${status}: ${all.reduce((sum, [, count]) => sum + count, 0)}`,
    );
    console.log(
      `${engine}, ${name}: ${run.sent} sent, ${run.unsendable} not sendable, none answered wrongly (${counts.join(', ')})`,
    );
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
