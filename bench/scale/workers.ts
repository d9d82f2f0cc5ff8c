import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import {
  acceptAndDeliverWithCpu,
  FAN_OUT,
  type Paybell,
  type Route,
  startReceiving,
  TO_ONE,
  TO_TEN,
  warmUp,
} from '../delivery/accept-and-deliver.ts';
import { startCountingReceiver } from '../delivery/counting-receiver.ts';
import { createPostgresDatabase, spreadPostgres, stopPostgres } from '../harness/postgres.ts';
import { cleanUp } from '../harness/processes.ts';
import { interleave, medianOf, medianRatio, type Subject } from '../harness/rounds.ts';

/**
 * One process against several behind one port (WORKERS), on PostgreSQL, in alternation: deliveries a second and the processor
 * time of each delivery. Events that arrive together share a transaction, so the same senders spread over several processes
 * make smaller groups; what the processes themselves cost shows with as many senders for each as the one has. Nothing has a
 * core of its own, so the rate says little where there are two cores. `npx bun bench/scale/workers.ts --workers 2 --rounds 5`
 */

const { values } = parseArgs({
  options: { workers: { type: 'string', default: '2' }, rounds: { type: 'string', default: '5' } },
});
const ROUNDS = Number(values.rounds);
const WORKERS = Number(values.workers);
const ROUTES = [
  { name: '1 event to 1 webhook', route: TO_ONE, events: 10_000 },
  { name: `1 event to ${FAN_OUT} webhooks`, route: TO_TEN, events: 1_000 },
];
const SENDERS = [
  { name: 'in all', times: 1 },
  { name: 'each', times: WORKERS },
];

async function compare(): Promise<string[][]> {
  await spreadPostgres();
  const receiver = await startCountingReceiver(FAN_OUT);
  const start = async (workers: number): Promise<Paybell> => {
    const databaseUrl = await createPostgresDatabase();
    const settings = { WORKERS: String(workers) };
    const paybell = await startReceiving(receiver, { databaseUrl, settings, place: 'anywhere' });
    for (let process = 0; process < workers; process++) await warmUp(paybell, receiver);
    return paybell;
  };
  const [one, several] = [await start(1), await start(WORKERS)];
  const subject = (name: string, paybell: Paybell, route: Route, events: number): Subject => ({
    name,
    measure: () => acceptAndDeliverWithCpu(paybell, receiver, route, events),
  });
  const subjects = ROUTES.flatMap(({ name, route, events }) => [
    subject(name, one, route, events),
    ...SENDERS.map(({ name: which, times }) =>
      subject(`${name}, ${which}`, several, { ...route, senders: route.senders * times }, events),
    ),
  ]);
  const rounds = await interleave(subjects, ROUNDS, () => undefined);
  for (const { server } of [one, several]) await server.stop();
  await receiver.stop();
  return ROUTES.flatMap(({ name, route }) =>
    SENDERS.map(({ name: which }) => {
      const figures = ['perSecond', 'cpuMicroseconds', 'allCpuMicroseconds'].map((figure) => [
        `${Math.round(medianOf(rounds, name, figure))} → ${Math.round(medianOf(rounds, `${name}, ${which}`, figure))}`,
        medianRatio(rounds, `${name}, ${which}`, name, figure).toFixed(2),
      ]);
      return [name, `${route.senders} ${which}`, ...figures.flat()];
    }),
  );
}

try {
  const rows = await compare();
  printTable(
    ['route', 'senders', 'delivered/s', 'ratio', 'CPU µs each', 'ratio', 'with PostgreSQL', 'ratio'],
    rows,
    '',
  );
  printLine(`One process → ${WORKERS}, ${ROUNDS} rounds; a ratio is the median of those within a round.`);
} finally {
  await cleanUp();
  await stopPostgres();
}
