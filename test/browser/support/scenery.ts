import { until } from '../../support/until.ts';
import type { Stage } from './stage.ts';

/** A small shop's life in a minute, all of it through the API: enough of everything for every view to show something. */
export async function setScenery({ client, receiver }: Stage): Promise<void> {
  const { webhooks } = client;
  const payments = `${receiver.url}/hooks/payments`;
  await webhooks.register({ postUrl: `${receiver.url}/hooks/late`, networkIds: [56], events: ['LatePayment'] });
  await webhooks.register({
    postUrl: payments,
    networkIds: [1, 10, 137, 8453],
    events: ['TransferCreated', 'TransferProcessed', 'TransferFinalized'],
  });
  receiver.answerWith(410, 'this endpoint was removed');
  await client.events.publish({ event: 'LatePayment', networkId: 56, agreementId: 'agr_7012' });
  await until('the answer 410 has suspended it', async () => (await suspendedIn(client)) === 1);
  receiver.answerWith(200, '{"received":true}');
  await webhooks.register({
    postUrl: 'https://billing.example.com/paybell',
    networkIds: [900, 8453],
    events: ['AgreementSignedUp', 'AgreementCancelled', 'ScheduledAgreementCancel', 'LatePayment'],
  });
  await webhooks.register({
    postUrl: 'https://ledger.example.net/inbound/transfers',
    networkIds: [137, 900, 42161],
    events: ['LatePayment', 'AgreementSignedUp'],
  });
  await sendTransfers(client, 120);
  receiver.answerWith(503, 'down for maintenance');
  await sendTransfers(client, 6);
  await until(
    'some are being retried',
    async () => (await client.deliveries.list({ status: 'retrying' })).totalResults >= 6,
  );
  receiver.answerWith(200, '{"received":true}');
  await sendTransfers(client, 40);
  await until(
    'the rest has arrived',
    async () => (await client.deliveries.list({ status: 'pending' })).totalResults === 0,
  );
}

async function suspendedIn(client: Stage['client']): Promise<number> {
  const { networks } = await client.webhooks.coverage();
  return networks.flatMap(({ events }) => events).reduce((sum, { suspended }) => sum + suspended, 0);
}

const KINDS = ['TransferCreated', 'TransferProcessed', 'TransferFinalized'];
const NETWORKS = [8453, 1, 137, 10];

async function sendTransfers(client: Stage['client'], count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    await client.events.publish({
      event: KINDS[index % KINDS.length] ?? '',
      networkId: NETWORKS[index % NETWORKS.length] ?? 1,
      transferId: `trf_${8_400 + index}`,
      amount: `${(index * 37) % 900}.${String((index * 61) % 100).padStart(2, '0')}`,
      asset: 'USDC',
    });
  }
}
