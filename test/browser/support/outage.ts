import { Paybell } from '../../../src/client/paybell.ts';
import { hashApiKey } from '../../../src/domain/keys/api-keys.ts';
import { until } from '../../support/until.ts';
import { ADMIN_KEY } from './fresh-stage.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import type { Stage } from './stage.ts';

/** The key of an operator who may read everything but secrets, and write nothing. */
export const READER_KEY = 'reader-key-of-the-browser-tests-00001';
const READER_SCOPES = 'entities:read+webhooks:read+events:read+deliveries:read+payments:read+audit:read';

/** Settings of a stage on which `startOutage` runs: attempts fail soon, and the last one of a schedule is far away. */
export const OUTAGE_SETTINGS = {
  ADMIN_KEY,
  ADMIN_KEYS: `support:${hashApiKey(READER_KEY)}:${READER_SCOPES}`,
  RETRY_SCHEDULE: '1ms,1h',
  DELIVERY_TIMEOUT: '120s',
} as const;

/** Agreement whose events an endpoint with ordering gets one after another. */
export const ORDERED_AGREEMENT = 'agr_7012';

export type Outage = AsyncDisposable & {
  /** The URLs of the first entity's endpoints, by the reason for which their deliveries wait. */
  readonly urls: Readonly<
    Record<'works' | 'retry' | 'order' | 'receiver' | 'suspended' | 'paused' | 'rateLimit', string>
  >;
  readonly failing: Receiver;
  readonly gone: Receiver;
  /** Clients of an entity that holds deliveries and of one without trouble. */
  readonly holding: Paybell;
  readonly healthy: Paybell;
};

/**
 * Three entities in an outage: receivers of the first fail, hang, are gone, paused or limited; the second holds
 * deliveries at a paused endpoint; the third is healthy. Needs a stage with OUTAGE_SETTINGS.
 */
export async function startOutage(stage: Stage): Promise<Outage> {
  const { client, receiver, url } = stage;
  const failing = startReceiver();
  const gone = startReceiver();
  const hanging = startReceiver(() => 3_600_000);
  failing.respondWith(503, 'upstream connect error');
  gone.respondWith(410, 'this shop has closed');
  const urls = {
    works: `${receiver.url}/hooks/payments`,
    retry: `${failing.url}/hooks/ledger`,
    order: `${failing.url}/hooks/ordered`,
    receiver: `${hanging.url}/hooks/slow`,
    suspended: `${gone.url}/hooks/closed`,
    paused: `${receiver.url}/hooks/reporting`,
    rateLimit: `${receiver.url}/hooks/limited`,
  };
  await registerAll(client, urls);
  await publishPayments(client);
  await waitForStates(client);

  const operator = new Paybell({ url, apiKey: ADMIN_KEY });
  const tenant = async (name: string) => new Paybell({ url, ...(await operator.admin.createEntity({ name })) });
  const holding = await tenant('Globex Payments');
  await holding.webhooks.register({ postUrl: `${receiver.url}/globex`, networkIds: NETWORKS, events: ['LatePayment'] });
  await holding.endpoints.pause((await holding.endpoints.list()).endpoints[0]?.endpointId ?? '');
  await publish(holding, 'LatePayment', 3);
  const healthy = await tenant('Initech Pay');
  await healthy.webhooks.register({
    postUrl: `${receiver.url}/initech`,
    networkIds: NETWORKS,
    events: ['LatePayment'],
  });
  await publish(healthy, 'LatePayment', 5);
  await until('the healthy entity has all', async () => (await healthy.deliveries.counts()).delivered === 5);
  return {
    ...{ urls, failing, gone, holding, healthy },
    async [Symbol.asyncDispose]() {
      await Promise.all([failing, gone, hanging].map((each) => each[Symbol.asyncDispose]()));
    },
  };
}

const NETWORKS = [1, 137, 8453];

async function registerAll(client: Paybell, urls: Outage['urls']): Promise<void> {
  const register = (postUrl: string, event: string) =>
    client.webhooks.register({ postUrl, networkIds: NETWORKS, events: [event] });
  const idOf = async (postUrl: string) => (await client.endpoints.list({ postUrl })).endpoints[0]?.endpointId ?? '';
  await register(urls.works, 'TransferFinalized');
  await register(urls.retry, 'TransferFinalized');
  await register(urls.order, 'TransferProcessed');
  await register(urls.receiver, 'TransferCreated');
  await register(urls.suspended, 'AgreementSignedUp');
  await register(urls.paused, 'AgreementCancelled');
  await register(urls.rateLimit, 'LatePayment');
  await client.endpoints.update(await idOf(urls.order), { ordering: 'agreement' });
  await client.endpoints.update(await idOf(urls.rateLimit), { rateLimit: 1 });
  await client.endpoints.update(await idOf(urls.paused), { name: 'Reporting' });
  await client.endpoints.pause(await idOf(urls.paused));
}

async function publishPayments(client: Paybell): Promise<void> {
  await publish(client, 'AgreementSignedUp', 1);
  await publish(client, 'TransferFinalized', 12);
  await publish(client, 'TransferProcessed', 3, ORDERED_AGREEMENT);
  await publish(client, 'TransferCreated', 4);
  await publish(client, 'AgreementCancelled', 2);
  await publish(client, 'LatePayment', 300);
  const suspended = async () => (await client.endpoints.list({ state: 'suspended' })).totalResults;
  await until('the response 410 has suspended an endpoint', async () => (await suspended()) === 1);
  await publish(client, 'AgreementSignedUp', 2);
}

async function waitForStates(client: Paybell): Promise<void> {
  const failing = async () => (await client.endpoints.list({ state: 'failing' })).totalResults;
  await until('two endpoints fail', async () => (await failing()) === 2);
  const waits = (kind: string) => async () => {
    const { deliveries } = await client.deliveries.list({ event: 'TransferCreated', limit: 100 });
    return deliveries.some(({ waitsFor }) => waitsFor?.kind === kind);
  };
  await until('the hanging receiver counts as slow', waits('receiver'));
}

let sent = 0;

/** Publishes payments with an amount, a payer and a transfer each. */
export async function publish(client: Paybell, event: string, count: number, agreementId?: string): Promise<void> {
  const events = Array.from({ length: count }, () => {
    sent += 1;
    return {
      event,
      networkId: NETWORKS[sent % NETWORKS.length] ?? 1,
      agreementId: agreementId ?? `agr_${7_100 + sent}`,
      transferId: `trf_${8_400 + sent}`,
      transactionHash: `0x${sent.toString(16).padStart(8, '0').repeat(8)}`,
      payer: `0x71c7656ec7ab88b098defb751b7401b5f6d8${String(sent).padStart(4, '0')}`,
      amount: `${(sent * 37) % 900}.${String((sent * 61) % 100).padStart(2, '0')}`,
      symbol: 'USDC',
    };
  });
  for (const payload of events) await client.events.publish(payload);
}
