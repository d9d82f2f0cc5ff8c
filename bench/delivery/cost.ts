import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { SQL } from 'bun';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';
import { emptyStore } from '../harness/empty-store.ts';
import { stopPostgres } from '../harness/postgres.ts';
import { cleanUp } from '../harness/processes.ts';
import { median } from '../harness/rounds.ts';
import {
  acceptAndDeliverWithCpu,
  FAN_OUT,
  type Paybell,
  type Route,
  startReceiving,
  TO_ONE,
  TO_TEN,
  warmUp,
} from './accept-and-deliver.ts';
import { type CountingReceiver, startCountingReceiver } from './counting-receiver.ts';

/**
 * What a delivery costs: processor time, transactions, pages and bytes written, of this checkout or of another one that is
 * installed. `npx bun bench/delivery/cost.ts --checkout ../before --rounds 5`.
 */

const { values } = parseArgs({ options: { checkout: { type: 'string' }, rounds: { type: 'string', default: '5' } } });
const ROUTES = [
  { name: '1 event to 1 webhook', route: TO_ONE, events: 10_000 },
  { name: `1 event to ${FAN_OUT} webhooks`, route: TO_TEN, events: 1_000 },
];
/** PostgreSQL sessions add to the counters of their database about once a second. */
const STATISTICS_MS = 1_500;

type Written = { readonly bytes: number; readonly transactions: number; readonly pages: number };

/** SQLite writes within the process; what PostgreSQL writes is its log, with the pages that it has read or found in memory. */
async function written({ server, sql }: Paybell): Promise<Written> {
  if (sql === null) {
    const io = readFileSync(`/proc/${server.pid}/io`, 'utf8');
    return { bytes: Number(/^write_bytes: (\d+)/m.exec(io)?.[1]), transactions: Number.NaN, pages: Number.NaN };
  }
  await Bun.sleep(STATISTICS_MS);
  return readStatistics(sql);
}

async function readStatistics(sql: SQL): Promise<Written> {
  const [row] = await sql`
    select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as bytes, xact_commit::float8 as transactions,
      (blks_hit + blks_read)::float8 as pages
    from pg_stat_database where datname = current_database()`;
  return row as Written;
}

async function measure(paybell: Paybell, receiver: CountingReceiver, route: Route, events: number): Promise<string[]> {
  const rounds: number[][] = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    const before = await written(paybell);
    const { cpuMicroseconds, allCpuMicroseconds, operations } = await acceptAndDeliverWithCpu(
      paybell,
      receiver,
      route,
      events,
    );
    const after = await written(paybell);
    const each = (figure: keyof Written) => (after[figure] - before[figure]) / (operations ?? 0);
    rounds.push([
      cpuMicroseconds ?? 0,
      (allCpuMicroseconds ?? 0) - (cpuMicroseconds ?? 0),
      each('transactions'),
      each('pages'),
      each('bytes'),
    ]);
  }
  const digits = [0, 0, 3, 1, 0];
  return digits.map((count, column) => median(rounds.map((row) => row[column] ?? 0)).toFixed(count));
}

async function measureEngine(engine: Engine): Promise<string[][]> {
  const receiver = await startCountingReceiver(FAN_OUT);
  const databaseUrl = await emptyStore(engine);
  const { checkout } = values;
  const paybell = await startReceiving(receiver, { databaseUrl, ...(checkout !== undefined && { checkout }) });
  await warmUp(paybell, receiver);
  const rows: string[][] = [];
  for (const { name, route, events } of ROUTES) {
    rows.push([
      engine,
      name,
      ...(await measure(paybell, receiver, route, events)).map((cell) => cell.replace('NaN', '')),
    ]);
  }
  await paybell.server.stop();
  await receiver.stop();
  return rows;
}

try {
  const rows: string[][] = [];
  for (const engine of ENGINES) rows.push(...(await measureEngine(engine)));
  printTable(['engine', 'route', 'CPU µs', 'PostgreSQL µs', 'transactions', 'pages', 'bytes written'], rows, '');
  printLine(`Of each delivery, medians of ${values.rounds} rounds.`);
} finally {
  await cleanUp();
  await stopPostgres();
}
