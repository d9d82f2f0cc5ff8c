import { until } from '../../support/until.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import type { Stage } from './stage.ts';

/**
 * A small shop's life, all of it through the API: enough of everything for every view to show something. It takes as many
 * minutes as it is told to, because a chart of minutes needs minutes.
 */
export async function setScenery(stage: Stage, minutes: number): Promise<AsyncDisposable> {
  const { client, receiver } = stage;
  const billing = startReceiver((count) => 20 + ((count * 13) % 70));
  await registerAll(stage, billing);
  receiver.answerWith(410, 'this endpoint was removed');
  await client.events.publish({ event: 'LatePayment', networkId: 56, agreementId: 'agr_7012' });
  await until('the answer 410 has suspended it', async () => (await suspendedIn(client)) === 1);
  receiver.answerWith(200, '{"received":true}');
  for (let minute = 0; minute < minutes; minute += 1) await liveOneMinute(stage, minute);
  await sendEvents(client, 60);
  // It stays down, so that something is being retried for as long as anybody looks.
  billing.answerWith(503, 'down for maintenance');
  await sendEvents(client, 40);
  const retrying = async () => (await client.deliveries.list({ status: 'retrying' })).totalResults;
  await until('some are being retried', async () => (await retrying()) >= 3);
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

const STEPS_A_MINUTE = 12;

/** More and less in waves, and once in a while the receiver has a bad quarter of a minute. */
async function liveOneMinute({ client, receiver }: Stage, minute: number): Promise<void> {
  const events = Math.round(8 + 5 * Math.sin(minute / 2.5) + (minute % 3));
  for (let step = 0; step < STEPS_A_MINUTE; step += 1) {
    const bad = minute % 9 === 6 && step < STEPS_A_MINUTE / 4;
    receiver.answerWith(bad ? 500 : 200, bad ? 'the database is locked' : '{"received":true}');
    await sendEvents(client, events);
    await Bun.sleep(60_000 / STEPS_A_MINUTE);
  }
}

async function suspendedIn(client: Stage['client']): Promise<number> {
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
