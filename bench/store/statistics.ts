import { Database as Connection } from 'bun:sqlite';
import { parseArgs } from 'node:util';
import { SQL } from 'bun';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import type { DatabaseTarget } from '../../src/config/database-target.ts';
import { destinationKey } from '../../src/domain/post-url.ts';
import { createLogger } from '../../src/log.ts';
import { Counter } from '../../src/metrics/registry.ts';
import type { Database } from '../../src/store/database/database.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { newId } from '../../src/store/new-id.ts';
import { StatsRecorder } from '../../src/store/stats/recorder.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import { createTarget, ENGINES } from '../../test/support/stores.ts';

/**
 * What the statistics of one delivery cost in the store: bytes that stay, and WAL without full-page images. A day passes on
 * an injected clock, and what happened is written every two seconds, as the service does it. It uses the recorder and the
 * catalogue alone, so that it runs on any version. `npx bun bench/store/statistics.ts --destinations 20 --store postgres`
 */

const { values } = parseArgs({
  options: {
    destinations: { type: 'string', default: '20' },
    daily: { type: 'string', default: '1000' },
    hours: { type: 'string', default: '24' },
    store: { type: 'string' },
  },
});
const DESTINATIONS = Number(values.destinations);
const DAILY = Number(values.daily);
const HOURS = Number(values.hours);
const DELIVERIES = Math.round((DESTINATIONS * DAILY * HOURS) / 24);

const MIDNIGHT_MS = 1_763_164_800_000;
const FLUSH_MS = 2_000;

/** Most deliveries take some tens of milliseconds and a few take seconds, in an order that looks random. */
function latencyMs(index: number): number {
  const share = ((index * 7919) % 1000) / 1000;
  return 18 + 30 * share + (share > 0.9 ? 200 * (share - 0.9) : 0) + (share > 0.99 ? 2_000 : 0);
}

async function passADay(db: Database): Promise<void> {
  let clockMs = MIDNIGHT_MS;
  const entityId = newId('ent');
  const recorder = new StatsRecorder(db, createLogger('error'), () => clockMs, new Counter());
  const stepMs = (HOURS * 3_600_000) / DELIVERIES;
  let flushAtMs = clockMs + FLUSH_MS;
  for (let index = 0; index < DELIVERIES; index++) {
    clockMs = MIDNIGHT_MS + index * stepMs;
    if (clockMs >= flushAtMs) await recorder.flush();
    while (clockMs >= flushAtMs) flushAtMs += FLUSH_MS;
    const destination = destinationKey(entityId, `https://hooks${(index * 7919) % DESTINATIONS}.example.com/paybell`);
    recorder.accepted(entityId, [destination]);
    recorder.delivered(destination, latencyMs(index));
  }
  await recorder.flush();
}

type Meter = { readonly storedBytes: () => Promise<number>; readonly walBytes: () => Promise<number> };

function meterOf(target: DatabaseTarget): Meter {
  if (target.engine === 'sqlite') return { storedBytes: async () => sqliteBytes(target.file), walBytes: async () => 0 };
  const sql = new SQL(target.url, { max: 1 });
  const number = async (text: string) => Number(Object.values((await sql.unsafe(text))[0])[0]);
  return {
    storedBytes: async () => {
      await sql.unsafe('vacuum');
      return number('select sum(pg_total_relation_size(relid)) from pg_stat_user_tables');
    },
    walBytes: async () => {
      // The first change of a page after a checkpoint writes all of it, which depends on the checkpoints and not on us.
      await sql.unsafe('alter system set full_page_writes = off');
      await sql.unsafe('select pg_reload_conf()');
      return number(`select pg_current_wal_insert_lsn() - '0/0'`);
    },
  };
}

function sqliteBytes(file: string): number {
  const connection = new Connection(file);
  connection.exec('pragma wal_checkpoint(truncate)');
  const read = (pragma: string) => Object.values(connection.query(`pragma ${pragma}`).get() ?? {})[0] as number;
  const bytes = (read('page_count') - read('freelist_count')) * read('page_size');
  connection.close();
  return bytes;
}

const rows: string[][] = [];
for (const engine of ENGINES.filter((name) => values.store === undefined || values.store === name)) {
  const { target, remove } = await createTarget(engine);
  const db = await openDatabase(target);
  await migrate(db);
  const meter = meterOf(target);
  const [storedBefore, walBefore] = [await meter.storedBytes(), await meter.walBytes()];
  const startedAtMs = performance.now();
  const cpu = process.cpuUsage();
  await passADay(db);
  const tookMs = performance.now() - startedAtMs;
  const { user, system } = process.cpuUsage(cpu);
  const walBytes = ((await meter.walBytes()) - walBefore) / DELIVERIES;
  const storedBytes = ((await meter.storedBytes()) - storedBefore) / DELIVERIES;
  const wal = engine === 'sqlite' ? '–' : walBytes.toFixed(0);
  const cpuMicros = (user + system) / DELIVERIES;
  rows.push([engine, storedBytes.toFixed(0), wal, cpuMicros.toFixed(0), (tookMs / 1000).toFixed(1)]);
  await db.close();
  remove();
}
printTable(['store', 'stored B', 'WAL B', 'CPU of the process, µs', 'seconds'], rows, '');
printLine(
  `\nFor each of ${DELIVERIES} deliveries in ${HOURS} hours to ${DESTINATIONS} destinations, ${DAILY} a day to each.`,
);
await stopPostgres();
process.exit(0);
