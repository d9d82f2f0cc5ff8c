import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { PgBouncer } from '../../test/support/pgbouncer.ts';
import { PGBOUNCER, settingOf } from '../../test/support/requirements.ts';
import { KIND } from '../harness/event-bodies.ts';
import { deliverySettings, firstCaller, register } from '../harness/paybell-api.ts';
import { createPostgresDatabase, stopPostgres } from '../harness/postgres.ts';
import { cleanUp, startPaybell } from '../harness/processes.ts';
import { interleave, medianOf, medianRatio } from '../harness/rounds.ts';
import { eventSubject } from '../parts/latency.ts';
import { startCountingReceiver } from './counting-receiver.ts';

/**
 * The latency of one event after another, with PostgreSQL direct and through PgBouncer in transaction mode, in alternation.
 * `PGBOUNCER=/path/to/pgbouncer npx bun bench/delivery/pooler.ts --rounds 10`
 */

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '10' } } });
const EVENTS = 500;
const FIGURES = ['responseP50Ms', 'responseP99Ms', 'deliveryP50Ms', 'deliveryP99Ms'];

async function main(binary: string): Promise<void> {
  const receiver = await startCountingReceiver(1);
  const start = async (name: string, settings: Record<string, string>) => {
    const paybell = await startPaybell({ settings });
    await register(paybell, firstCaller(paybell), KIND, receiver.urls);
    return eventSubject(name, paybell, receiver, EVENTS);
  };
  const direct = await start('direct', deliverySettings(await createPostgresDatabase()));
  const databaseUrl = await createPostgresDatabase();
  await using pooler = await PgBouncer.start(binary, databaseUrl, { pool_mode: 'transaction' });
  const pooledUrl = pooler.urlOf(databaseUrl);
  const pooled = await start('pooled', { ...deliverySettings(pooledUrl), LISTEN_DATABASE_URL: databaseUrl });
  for (const { measure } of [direct, pooled]) await measure(0);
  const rounds = await interleave([direct, pooled], Number(values.rounds), () => undefined);
  printTable(
    ['figure', 'direct', 'pooled', 'ratio'],
    FIGURES.map((figure) => [
      figure,
      ...['direct', 'pooled'].map((name) => medianOf(rounds, name, figure).toFixed(2)),
      medianRatio(rounds, 'pooled', 'direct', figure).toFixed(2),
    ]),
    '',
  );
}

const binary = settingOf(PGBOUNCER);
if (binary === null) printLine('skipped: PGBOUNCER names no PgBouncer binary');
else await main(binary);
await cleanUp();
await stopPostgres();
process.exit(0);
