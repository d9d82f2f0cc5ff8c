import { until } from '../../support/until.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import type { Stage } from './stage.ts';

/**
 * Creates data for every view through the API, like a small shop would. It takes as many minutes as given, because the
 * overview charts activity by the minute.
 */
export async function addDemoData(stage: Stage, minutes: number): Promise<AsyncDisposable> {
  const { client, receiver } = stage;
  const billing = startReceiver((count) => 20 + ((count * 13) % 70));
  await registerAll(stage, billing);
  receiver.respondWith(410, 'this endpoint was removed');
  await client.events.publish({ event: 'LatePayment', networkId: 56, agreementId: 'agr_7012' });
  await until('the response 410 has suspended the webhook', async () => (await countSuspended(client)) === 1);
  receiver.respondWith(200, '{"received":true}');
  for (let minute = 0; minute < minutes; minute += 1) await publishForOneMinute(stage, minute);
  await sendEvents(client, 60);
  // The receiver stays down, so that there are retrying deliveries in every picture.
  billing.respondWith(503, 'down for maintenance');
  await sendEvents(client, 40);
  const retrying = async () => (await client.deliveries.list({ status: 'retrying' })).totalResults;
  await until('some deliveries are retrying', async () => (await retrying()) >= 3);
  return billing;
}

async function registerAll({ client, receiver }: Stage, billing: Receiver): Promise<void> {
  const register = (postUrl: string, networkIds: number[], events: string[]) =>
    client.webhooks.register({ postUrl, networkIds, events });
  await register(`${receiver.url}/hooks/late`, [56], ['LatePayment']);
  await register(`${receiver.url}/hooks/payments`, [1, 10, 137, 8453], TRANSFERS);
  await register(`${billing.url}/agreements`, [8453], ['TransferFinalized', 'AgreementSignedUp', 'LatePayment']);
  await register(
    'https://billing.example.com/paybell',
    [900],
    ['AgreementSignedUp', 'AgreementCancelled', 'LatePayment'],
  );
  await register('https://ledger.example.net/inbound/transfers', [137, 42161], ['LatePayment', 'AgreementSignedUp']);
}

const STEPS_PER_MINUTE = 12;

/** Publishes events in waves. Every ninth minute the receiver fails for 15 seconds. */
async function publishForOneMinute({ client, receiver }: Stage, minute: number): Promise<void> {
  const events = Math.round(8 + 5 * Math.sin(minute / 2.5) + (minute % 3));
  for (let step = 0; step < STEPS_PER_MINUTE; step += 1) {
    const failing = minute % 9 === 6 && step < STEPS_PER_MINUTE / 4;
    receiver.respondWith(failing ? 500 : 200, failing ? 'the database is locked' : '{"received":true}');
    await sendEvents(client, events);
    await Bun.sleep(60_000 / STEPS_PER_MINUTE);
  }
}

async function countSuspended(client: Stage['client']): Promise<number> {
  const { networks } = await client.webhooks.coverage();
  return networks.flatMap(({ events }) => events).reduce((sum, { suspended }) => sum + suspended, 0);
}

const TRANSFERS = ['TransferCreated', 'TransferProcessed', 'TransferFinalized'];
const KINDS = [...TRANSFERS, 'TransferFinalized'];
const NETWORKS = [8453, 1, 137, 10, 8453];

let sent = 0;

async function sendEvents(client: Stage['client'], count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) {
    sent += 1;
    await client.events.publish({
      event: KINDS[sent % KINDS.length] ?? '',
      networkId: NETWORKS[sent % NETWORKS.length] ?? 1,
      transferId: `trf_${8_400 + sent}`,
      amount: `${(sent * 37) % 900}.${String((sent * 61) % 100).padStart(2, '0')}`,
      asset: 'USDC',
    });
  }
}
