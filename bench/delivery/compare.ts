import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';
import { emptyStore } from '../harness/empty-store.ts';
import { stopPostgres } from '../harness/postgres.ts';
import { cleanUp } from '../harness/processes.ts';
import { interleave, medianOf, medianRatio, type Subject } from '../harness/rounds.ts';
import {
  acceptAndDeliverWithCpu,
  FAN_OUT,
  type Paybell,
  startReceiving,
  TO_ONE,
  TO_TEN,
  warmUp,
} from './accept-and-deliver.ts';
import { startCountingReceiver } from './counting-receiver.ts';

/**
 * This checkout against another one, both installed: events are sent to each in alternation, so that a slow moment of the
 * machine affects both alike. Also what either costs in processor time, alone and with PostgreSQL.
 * `npx bun bench/delivery/compare.ts ../before --engine sqlite --rounds 20`
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { engine: { type: 'string' }, rounds: { type: 'string', default: '20' } },
});
const ROUNDS = Number(values.rounds);
const AMOUNTS = { one: 5_000, ten: 500 };
const ROUTES = [
  { name: '1 event to 1 webhook', route: TO_ONE, events: AMOUNTS.one },
  { name: `1 event to ${FAN_OUT} webhooks`, route: TO_TEN, events: AMOUNTS.ten },
];

async function compare(engine: Engine, other: string): Promise<string[][]> {
  const receiver = await startCountingReceiver(FAN_OUT);
  const start = async (checkout?: string): Promise<Paybell> => {
    const databaseUrl = await emptyStore(engine);
    const paybell = await startReceiving(receiver, { databaseUrl, ...(checkout !== undefined && { checkout }) });
    await warmUp(paybell, receiver);
    return paybell;
  };
  const sides = { before: await start(other), now: await start() };
  const subjects = ROUTES.flatMap(({ name, route, events }) => {
    const [before, now] = Object.entries(sides).map(
      ([side, paybell]): Subject => ({
        name: `${side}, ${name}`,
        measure: () => acceptAndDeliverWithCpu(paybell, receiver, route, events),
      }),
    ) as [Subject, Subject];
    // Either is the first as often as the second, because what one leaves to the disk slows the next.
    return [before, now, now, before];
  });
  const rounds = await interleave(subjects, ROUNDS, progress);
  for (const { server } of Object.values(sides)) await server.stop();
  await receiver.stop();
  return ROUTES.map(({ name }) => {
    const [before, now] = [`before, ${name}`, `now, ${name}`];
    const figures = ['perSecond', 'cpuMicroseconds', 'allCpuMicroseconds'].map((figure) => [
      `${Math.round(medianOf(rounds, before, figure))} → ${Math.round(medianOf(rounds, now, figure))}`,
      medianRatio(rounds, now, before, figure).toFixed(3),
    ]);
    return [engine, name, ...figures.flat()];
  });
}

function progress(doing: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K  ${doing}`);
}

const [other] = positionals;
const engines = ENGINES.filter((engine) => values.engine === undefined || values.engine === engine);
if (other === undefined || !existsSync(resolve(other, 'src/main.ts')) || engines.length === 0 || !(ROUNDS >= 1)) {
  console.error('Usage: npx bun bench/delivery/compare.ts <another checkout> [--engine sqlite|postgres] [--rounds 20]');
  process.exit(2);
}
try {
  const rows: string[][] = [];
  for (const engine of engines) rows.push(...(await compare(engine, other)));
  const headings = ['delivered/s', 'ratio', 'CPU µs each', 'ratio', 'with PostgreSQL', 'ratio'];
  printTable(['engine', 'route', ...headings], rows, '');
  printLine(`${ROUNDS} rounds, each of them twice; a ratio is the median of now ÷ before, one after the other.`);
} finally {
  await cleanUp();
  await stopPostgres();
}
