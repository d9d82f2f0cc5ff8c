import type { Database } from '../../src/store/database/database.ts';
import { chunks, subjectKey } from '../../src/store/database/sql.ts';
import { newId } from '../../src/store/new-id.ts';
import { webhookCountTable } from '../../src/store/tables.ts';
import { entityTable } from '../../src/store/tenants/tables.ts';
import { registerWebhooks } from '../../src/store/webhooks/register.ts';
import { TEST_CHANGE } from '../../test/support/api.ts';
import { type DeliverySeed, seedDeliveryRows } from '../../test/support/delivery-rows.ts';
import { newEntity } from '../../test/support/webhooks.ts';

/** Two large entities, and queries that reach every way of reading a page of their lists. */

export type Cases = Readonly<Record<string, Readonly<Record<string, string>>>>;

const FIRST_S = 1_763_168_400;
const URLS = 100;
const NETWORKS = 200;
const EVENTS = ['LatePayment', 'TransferCreated', 'TransferFinalized', 'TransferProcessed', 'AgreementSignedUp'];

export const WEBHOOK_CASES: Cases = {
  'first page': {},
  'last page': { page: '4000' },
  'a page in the middle, by URL': { page: '2000', sortBy: 'postUrl' },
  'a page past the end': { page: '5000' },
  'few matches (one network and event)': { networkId: '7', event: 'LatePayment' },
  'many matches (one event)': { event: 'LatePayment' },
  'no match': { networkId: '999999' },
};

/** As in a store with many tenants: with a single one, PostgreSQL would scan the small tables. */
export async function seedOtherEntities(db: Database): Promise<void> {
  const newEntity = entityTable.insertion(['entityId', 'name', 'dateCreated']);
  const newCount = webhookCountTable.insertion(['entityId', 'networkId', 'event', 'webhooks']);
  const others = Array.from({ length: 2_000 }, () => ({ entityId: newId('ent'), name: 'Other', dateCreated: FIRST_S }));
  const counts = others.flatMap(({ entityId }) =>
    EVENTS.map((event) => ({ entityId, networkId: 1, event, webhooks: 1 })),
  );
  await db.transaction(async (queries) => {
    for (const chunk of chunks(others)) await queries.run(newEntity.text(chunk.length), newEntity.parameters(chunk));
    for (const chunk of chunks(counts)) await queries.run(newCount.text(chunk.length), newCount.parameters(chunk));
  });
}

/** An entity with 100,000 webhooks: 200 networks × 5 events × 100 URLs. */
export async function seedManyWebhooks(db: Database): Promise<string> {
  const entityId = await newEntity(db);
  const networks = Array.from({ length: NETWORKS }, (_, networkId) => networkId);
  const pairs = networks.flatMap((networkId) => EVENTS.map((event) => ({ networkId, event })));
  for (let url = 0; url < URLS; url++) {
    const postUrl = `https://example.com/${url}`;
    await registerWebhooks(db, entityId, { postUrl, pairs, entityWebhookLimit: 1_000_000 }, TEST_CHANGE);
  }
  return entityId;
}

const DELIVERIES = 100_000;
const AN_HOUR = { since: String(FIRST_S), until: String(FIRST_S + 3_600) };

export const DELIVERY_CASES: Cases = {
  'first page': {},
  'page 2,000': { page: '2000' },
  'last page': { page: '4000' },
  'one event': { eventId: 'evt_500' },
  'one webhook of ten': { webhookId: 'wh_3' },
  'a webhook without any': { webhookId: 'wh_none' },
  'one kind of three': { event: 'LatePayment' },
  'one network of four': { networkId: '1' },
  'a network without any': { networkId: '77' },
  failed: { status: 'failed' },
  'failed, last page': { status: 'failed', page: '40' },
  'failed at one webhook': { status: 'failed', webhookId: 'wh_3' },
  pending: { status: 'pending' },
  held: { status: 'held' },
  delivered: { status: 'delivered' },
  'delivered at one webhook': { status: 'delivered', webhookId: 'wh_3' },
  'delivered in an hour': { status: 'delivered', ...AN_HOUR },
  'an hour': AN_HOUR,
  'an hour of one webhook': { webhookId: 'wh_3', ...AN_HOUR },
  'a transfer': { q: 'trf_500' },
  'a host': { q: 'example' },
  'failed at a URL': { q: 'https://example.com/hooks/', status: 'failed' },
  'a text in payloads': { payload: 'trf_500', since: '1' },
  'by next attempt': { sortBy: 'dateNextAttempt', sortDir: 'asc' },
  'by next attempt, last first': { sortBy: 'dateNextAttempt' },
  'by next attempt, page 400': { sortBy: 'dateNextAttempt', page: '400' },
  'pending by next attempt': { sortBy: 'dateNextAttempt', status: 'pending' },
};

/** An entity with 100,000 deliveries, of which one in a hundred failed and one in two hundred is pending. */
export async function seedManyDeliveries(db: Database): Promise<string> {
  const entityId = await newEntity(db);
  await seedDeliveryRows(db, entityId, deliveries());
  // A second entity of the same size, so that a scan of the table is not a scan of the entity.
  await seedDeliveryRows(db, await newEntity(db), deliveries());
  await nameTransfers(db);
  return entityId;
}

/** Every event is about a transfer; one of them says so in its body, too. */
async function nameTransfers(db: Database): Promise<void> {
  const body = JSON.stringify({ transferId: 'trf_500' });
  await db.transaction(
    async (queries) => {
      for (const statement of db.dialect.allowLongTransaction) await queries.run(statement);
      await queries.run('update events set transfer_key = cast(created_at_ms / 500 % 2000000000 as int)');
      await queries.run(`update events set transfer_key = $1, body = $2 where event_id = 'evt_500'`, [
        subjectKey('trf_500'),
        body,
      ]);
    },
    { deadlineMs: 600_000 },
  );
}

function deliveries(): DeliverySeed[] {
  return Array.from({ length: DELIVERIES }, (_, index) => {
    const status = index % 100 === 7 ? 'failed' : index % 200 === 9 ? 'pending' : 'delivered';
    const createdAtMs = FIRST_S * 1000 + index * 500;
    return {
      id: `dlv_${index.toString(16).padStart(32, '0')}`,
      eventId: `evt_${index >> 1}`,
      webhookId: `wh_${(index >> 3) % 10}`,
      event: ['LatePayment', 'TransferCreated', 'TransferFinalized'][index % 3] ?? '',
      networkId: [1, 10, 137, 8453][(index >> 2) % 4] ?? 1,
      postUrl: 'https://example.com/hooks/paybell/that/is/as/long/as/most',
      status,
      attempts: 1,
      createdAtMs,
      nextAttemptMs: status === 'pending' ? createdAtMs + 60_000 : null,
      deliveredAtMs: status === 'delivered' ? createdAtMs + 80 : null,
      lastStatusCode: 200,
      lastError: null,
    };
  });
}
