import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import { Instances } from '../../test/support/instances.ts';
import { Ledger } from '../../test/support/ledger.ts';
import { KIND, nextEvent } from '../harness/event-bodies.ts';
import { createPostgresDatabase, stopPostgres } from '../harness/postgres.ts';

/**
 * From the request with an event to its arrival at a receiver: where the instance that accepted it sends it, and where only the other one
 * may send to that receiver, because DESTINATION_CONCURRENCY is 1. `npx bun bench/delivery/hand-over.ts --events 300`.
 */

const { values } = parseArgs({ options: { events: { type: 'string', default: '300' } } });
const EVENTS = Number(values.events);
const DESTINATIONS = 8;
/** So long that no event waits for one before it. */
const PAUSE_MS = 60;
const WARM_UP = 20;

const instances = await Instances.on('postgres', {
  DATABASE_URL: await createPostgresDatabase(),
  DESTINATION_CONCURRENCY: '1',
  LOG_LEVEL: 'error',
});
const ledger = new Ledger(undefined, DESTINATIONS);
try {
  // The name of a header shows which instance sent a request.
  const accepting = await instances.start({ BODY_SIGNATURE_HEADER: 'x-accepting' });
  await instances.start({ BODY_SIGNATURE_HEADER: 'x-other' });
  for (let index = 0; index < DESTINATIONS; index++) {
    await accepting.client.register(ledger.url(`/${index}`, index), [KIND]);
  }
  const sentAtMs = new Map<string, number>();
  for (let index = 0; index < WARM_UP + EVENTS; index++) {
    const eventId = `event-${index}`;
    if (index >= WARM_UP) sentAtMs.set(eventId, performance.timeOrigin + performance.now());
    await accepting.client.send({ eventId, ...nextEvent() });
    await Bun.sleep(PAUSE_MS);
  }
  await Bun.sleep(2_000);
  for (const [header, what] of [
    ['x-accepting', 'sent by the instance that accepted the event'],
    ['x-other', 'left to the other instance'],
  ] as const) {
    const waits = ledger.requests
      .filter(({ headers, eventId }) => header in headers && sentAtMs.has(eventId))
      .map(({ receivedAtMs, eventId }) => receivedAtMs - (sentAtMs.get(eventId) ?? 0))
      .sort((a, b) => a - b);
    const at = (share: number) => (waits[Math.floor((waits.length - 1) * share)] ?? Number.NaN).toFixed(1);
    printLine(`${what}: ${waits.length} deliveries, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, most ${at(1)} ms`);
  }
} finally {
  await instances.stop();
  await ledger[Symbol.asyncDispose]();
  await stopPostgres();
}
