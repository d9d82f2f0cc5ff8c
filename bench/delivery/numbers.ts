import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { findEndpoint, readWholeFeed, wrongNumbers } from '../../test/support/endpoint-feed.ts';
import { type Instance, Instances } from '../../test/support/instances.ts';
import { Ledger, type ReceivedRequest } from '../../test/support/ledger.ts';
import { runAndExit } from '../../test/support/run-and-exit.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';
import { KIND, nextEvent } from '../harness/event-bodies.ts';

/**
 * Events for one URL, sent to two instances on PostgreSQL and to one on SQLite: the numbers that the requests carry, and
 * those of the feed, are 1, 2, 3 … with none twice and none absent.
 * `npx bun bench/delivery/numbers.ts --events 20000 --store postgres`
 */

const { values } = parseArgs({ options: { events: { type: 'string', default: '20000' }, store: { type: 'string' } } });
const EVENTS = Number(values.events);
const AT_ONCE = 64;
const STALLED_AFTER_MS = 60_000;

async function sendAll(instances: readonly Instance[]): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < EVENTS) {
      const index = next++;
      const event = { eventId: `event-${index}`, ...nextEvent() };
      const sent = await instances[index % instances.length]?.client.send(event);
      if (sent?.deliveries !== 1) throw new Error(`event-${index} has ${sent?.deliveries} deliveries`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

async function untilArrived({ requests }: Ledger): Promise<void> {
  let seen = -1;
  let seenAtMs = performance.now();
  while (requests.length < EVENTS && performance.now() - seenAtMs < STALLED_AFTER_MS) {
    if (requests.length > seen) [seen, seenAtMs] = [requests.length, performance.now()];
    await Bun.sleep(100);
  }
}

/** A request that is repeated has the number that it had. */
function wrongRequests(requests: readonly ReceivedRequest[], endpointId: string): string[] {
  const numbers = new Map<string, string>();
  const wrong = new Set<string>();
  for (const { deliveryId, headers } of requests) {
    const number = headers['paybell-sequence'] ?? '';
    if ((numbers.get(deliveryId) ?? number) !== number) wrong.add(`${deliveryId} arrived with two numbers`);
    if (headers['paybell-endpoint'] !== endpointId) wrong.add(`${deliveryId} names another endpoint`);
    numbers.set(deliveryId, number);
  }
  const given = new Set([...numbers.values()].map(Number));
  const absent = Array.from({ length: EVENTS }, (_, index) => index + 1).filter((number) => !given.has(number));
  if (absent.length > 0) wrong.add(`${absent.length} numbers did not arrive, such as ${absent[0]}`);
  if (given.size < numbers.size) wrong.add(`${numbers.size - given.size} deliveries share a number`);
  if (Math.max(...given) > EVENTS) wrong.add(`a number above ${EVENTS} arrived`);
  return [...wrong];
}

async function run(engine: Engine): Promise<{ cells: string[]; wrong: string[] }> {
  await using ledger = new Ledger();
  const service = await Instances.on(engine, { LOG_LEVEL: 'warn' });
  try {
    const first = await service.start();
    const instances = engine === 'postgres' ? [first, await service.start()] : [first];
    await first.client.register(ledger.url(), [KIND]);
    await sendAll(instances);
    await untilArrived(ledger);
    const { endpointId, lastSequence } = await findEndpoint(first.client, ledger.url());
    const entries = await readWholeFeed(first.client, endpointId);
    const wrong = [...wrongRequests(ledger.requests, endpointId), ...wrongNumbers(entries, EVENTS)];
    if (lastSequence !== EVENTS) wrong.push(`the endpoint says that its last number is ${lastSequence}`);
    const figures = [instances.length, EVENTS, ledger.requests.length, lastSequence, wrong.length].map(String);
    return { cells: [engine, ...figures], wrong };
  } finally {
    await service.stop();
  }
}

async function main(): Promise<number> {
  const rows: string[][] = [];
  let isWrong = false;
  for (const engine of ENGINES.filter((name) => values.store === undefined || values.store === name)) {
    const { cells, wrong } = await run(engine);
    rows.push(cells);
    for (const sentence of wrong) printLine(`${engine}: ${sentence}`);
    isWrong ||= wrong.length > 0;
  }
  printTable(['store', 'instances', 'events', 'requests', 'last number', 'wrong'], rows, '');
  return isWrong ? 1 : 0;
}

await runAndExit(main);
