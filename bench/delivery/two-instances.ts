import { parseArgs } from 'node:util';
import { printTable } from '../../src/cli/output.ts';
import { Instances } from '../../test/support/instances.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import { eventIds, sendAll } from '../../test/support/sending.ts';
import { startReceivers } from './receivers.ts';

/**
 * Two instances on one PostgreSQL: none lost, both take part, and no delivery is posted by both at the same time.
 * `npx bun bench/delivery/two-instances.ts --events 10000`
 */

const { values } = parseArgs({ options: { events: { type: 'string', default: '10000' } } });
const EVENTS = Number(values.events);
const DESTINATIONS = 10;
const PATIENCE_MS = 180_000;

const receivers = await startReceivers({ receivers: DESTINATIONS, replyMs: 2 });
const instances = await Instances.on('postgres');
// The name of a header tells who has posted.
const one = await instances.start({ BODY_SIGNATURE_HEADER: 'x-from-one' });
const two = await instances.start({ BODY_SIGNATURE_HEADER: 'x-from-two' });
for (const [network, url] of receivers.urls.entries()) await one.client.register(url, ['LatePayment'], [network]);
const startedAtMs = performance.now();
const sending = sendAll([one.client, two.client], eventIds(EVENTS), {
  atATime: 32,
  networkOf: (index) => index % DESTINATIONS,
});
await sending.done;
const acceptedS = (performance.now() - startedAtMs) / 1000;
while ((await receivers.count()).count < EVENTS && performance.now() - startedAtMs < PATIENCE_MS) await Bun.sleep(20);
const tookS = (performance.now() - startedAtMs) / 1000;
// Whatever is posted twice may still come.
await Bun.sleep(2_000);
const { ledger, together } = await receivers.ledger();
const deliveries = new Set(ledger.map(({ deliveryId }) => deliveryId));
const by = (name: string) => ledger.filter(({ from }) => from === name).length;
const lost = sending.acknowledged.difference(new Set(ledger.map(({ eventId }) => eventId))).size;
const twice = ledger.length - deliveries.size;
const rows = [
  ['acknowledged', String(sending.acknowledged.size)],
  ['lost', String(lost)],
  ['posted by the first', String(by('one'))],
  ['posted by the second', String(by('two'))],
  ['posted by both at the same time', String(together)],
  ['posted twice', String(twice)],
  ['seconds to accept', acceptedS.toFixed(1)],
  ['seconds to deliver', tookS.toFixed(1)],
];
printTable([`${EVENTS} events, two instances`, 'count'], rows, '');
await instances.stop();
await receivers.stop();
await stopPostgres();
process.exit(lost === 0 && together === 0 && by('one') > 0 && by('two') > 0 ? 0 : 1);
