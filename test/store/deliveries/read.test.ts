import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type DeliveryListQuery, deliveryListQuerySchema } from '../../../src/contract/deliveries.ts';
import { type EventListQuery, eventListQuerySchema } from '../../../src/contract/events/accepted-event.ts';
import { DELIVERY_STATUSES } from '../../../src/domain/attempt.ts';
import { EVENT_KINDS } from '../../../src/domain/event-kinds.ts';
import { MAX_NETWORK_ID } from '../../../src/domain/networks.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { listDeliveries } from '../../../src/store/deliveries/read.ts';
import { listEvents } from '../../../src/store/events/read.ts';
import {
  type DeliveryRow,
  type DeliverySeed,
  deliveriesInModel,
  type EventSeed,
  eventsInModel,
  inModel,
  seedDeliveryRows,
  seedEventRows,
} from '../../support/delivery-rows.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { suiteRuns } from '../../support/suite.ts';
import { newEntity } from '../../support/webhooks.ts';

/** Few values, so that rows collide in every field; ids that a locale would put in another order than their bytes. */
const ENTITIES = 2;
const IDS = ['a', 'A', 'b', 'B', '_', '-', 'a-b', 'aB', 'ab', '10', '9', '0'];
const EVENTS = ['LatePayment', 'TransferCreated', 'RefundIssued'];
const NETWORKS = [0, 1, 900, MAX_NETWORK_ID];
const WEBHOOKS = ['wh_1', 'wh_2', 'wh_3'];
const FIRST_S = 1_763_168_400;

const entityIndex = fc.nat({ max: ENTITIES - 1 });
const momentMs = fc.integer({ min: FIRST_S * 1000 - 1, max: FIRST_S * 1000 + 3_001 });
const second = fc.oneof(
  fc.integer({ min: FIRST_S - 1, max: FIRST_S + 5 }),
  fc.constantFrom(0, Number.MAX_SAFE_INTEGER),
);
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null });

const eventRow = fc.record({
  entity: entityIndex,
  id: fc.constantFrom(...IDS),
  event: fc.constantFrom(...EVENTS),
  networkId: fc.constantFrom(...NETWORKS),
  body: fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => text.replaceAll('\0', '')),
  createdAtMs: momentMs,
});

/** Only what is on its way has a next attempt. What was attempted and waits is retrying, what is held has its own webhook. */
function coherent(row: DeliverySeed & { entity: number }): DeliverySeed & { entity: number } {
  const waits = row.status === 'pending' || row.status === 'retrying';
  return {
    ...row,
    nextAttemptMs: waits ? row.nextAttemptMs : null,
    attempts: row.status === 'pending' ? 0 : row.status === 'retrying' ? row.attempts + 1 : row.attempts,
    webhookId: row.status === 'held' ? 'wh_held' : row.webhookId,
  };
}

const deliveryRow = fc
  .record({
    entity: entityIndex,
    eventId: fc.constantFrom(...IDS),
    webhookId: fc.constantFrom(...WEBHOOKS),
    event: fc.constantFrom(...EVENTS),
    networkId: fc.constantFrom(...NETWORKS),
    postUrl: fc.constantFrom('https://example.com/a', 'https://example.com/b'),
    status: fc.constantFrom(...DELIVERY_STATUSES),
    attempts: fc.nat({ max: 12 }),
    createdAtMs: momentMs,
    nextAttemptMs: momentMs as fc.Arbitrary<number | null>,
    deliveredAtMs: maybe(momentMs),
    lastStatusCode: maybe(fc.constantFrom(200, 410, 500)),
    lastError: maybe(fc.constantFrom('timeout', 'refused')),
  })
  .map(coherent);

const paging = {
  page: fc.integer({ min: 1, max: 4 }),
  limit: fc.oneof(fc.integer({ min: 1, max: 7 }), fc.constant(100)),
  sortDir: fc.constantFrom('asc' as const, 'desc' as const),
};
const eventFilters = {
  eventId: fc.constantFrom(...IDS, 'absent'),
  event: fc.constantFrom(EVENT_KINDS[4], EVENT_KINDS[6]),
  networkId: fc.constantFrom(...NETWORKS, 7),
  since: second,
  until: second,
};
const eventQuery = fc.record({ ...paging, ...eventFilters }, { requiredKeys: [] });
const deliveryQuery = fc.record(
  {
    ...paging,
    ...eventFilters,
    webhookId: fc.constantFrom(...WEBHOOKS, 'wh_absent'),
    status: fc.constantFrom(...DELIVERY_STATUSES),
    sortBy: fc.constantFrom('dateCreated' as const, 'dateNextAttempt' as const),
  },
  { requiredKeys: [] },
);

const selector = ({ entity, id }: { entity: number; id: string }) => `${entity} ${id}`;
const someOf = <Row extends { entity: number; id: string }>(row: fc.Arbitrary<Row>) =>
  fc.uniqueArray(row, { minLength: 1, maxLength: 30, selector });
const asking = <Query>(query: fc.Arbitrary<Query>) =>
  fc.array(fc.record({ entity: entityIndex, query }), { minLength: 1, maxLength: 10 });

/** A query as the route hands it on: what is not given has its default. */
const ofEvents = (given: Partial<EventListQuery>): EventListQuery => ({ ...eventListQuerySchema.parse({}), ...given });
const ofDeliveries = (given: Partial<DeliveryListQuery>): DeliveryListQuery => ({
  ...deliveryListQuerySchema.parse({}),
  ...given,
});

onSuiteEngine('any list of any events', (store) => {
  test('equals what a plain array gives, page by page and walked to the end', async () => {
    await fc.assert(
      fc.asyncProperty(someOf(eventRow), asking(eventQuery), async (rows, asked) => {
        const { entities, models } = await split<EventSeed>(store.db, rows);
        for (const [index, model] of models.entries()) await seedEventRows(store.db, entities[index] ?? '', model);
        for (const { entity, query: given } of asked) {
          const query = ofEvents(given);
          const expected = eventsInModel(models[entity] ?? [], query);
          const read = (page: number) => listEvents(store.db, entities[entity] ?? '', { ...query, page });
          expect(await read(query.page)).toEqual({
            totalResults: expected.length,
            events: pageOf(expected, query),
          });
          expect(await walk(async (page) => (await read(page)).events)).toEqual(expected);
        }
      }),
      { numRuns: suiteRuns(6, 60) },
    );
  });
});

onSuiteEngine('any list of any deliveries', (store) => {
  test('equals what a plain array gives, page by page and walked to the end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(deliveryRow, { minLength: 1, maxLength: 30 }),
        asking(deliveryQuery),
        async (rows, asked) => {
          const { entities, models: seeds } = await split<DeliverySeed>(store.db, rows);
          const models: DeliveryRow[][] = [];
          for (const [index, seed] of seeds.entries()) {
            models.push(await seedDeliveryRows(store.db, entities[index] ?? '', seed));
          }
          for (const { entity, query: given } of asked) {
            const query = ofDeliveries(given);
            await expectAsModel(store.db, entities[entity] ?? '', models[entity] ?? [], query);
          }
        },
      ),
      { numRuns: suiteRuns(8, 100) },
    );
  });

  test('of thousands equals the same on every page, from either end, by every filter', async () => {
    const entityId = await newEntity(store.db);
    const model = await seedDeliveryRows(store.db, entityId, thousands(suiteRuns(400, 3_000)));
    const filters: Partial<DeliveryListQuery>[] = [
      {},
      ...DELIVERY_STATUSES.map((status) => ({ status })),
      { webhookId: 'wh_1' },
      { event: 'LatePayment', since: FIRST_S + 10_000, until: FIRST_S + 150_000 },
      { status: 'delivered', since: FIRST_S + 10 },
      { status: 'delivered', networkId: 1 },
    ];
    for (const filter of filters) {
      for (const sortBy of ['dateCreated', 'dateNextAttempt'] as const) {
        for (const sortDir of ['asc', 'desc'] as const) {
          const query = ofDeliveries({ ...filter, sortBy, sortDir, limit: 97 });
          await expectAsModel(store.db, entityId, model, query);
        }
      }
    }
  });
});

async function expectAsModel(db: Database, entityId: string, model: DeliveryRow[], query: DeliveryListQuery) {
  const expected = deliveriesInModel(model, query);
  const read = async (page: number) => {
    const list = await listDeliveries(db, entityId, { ...query, page });
    return { ...list, deliveries: list.deliveries.map(inModel) };
  };
  const deliveries = pageOf(expected, query);
  expect(await read(query.page)).toEqual({ totalResults: expected.length, deliveries, searched: null });
  expect(await walk(async (page) => (await read(page)).deliveries)).toEqual(expected);
}

/** Each row to its entity: two entities may well use the same ids. */
async function split<Row>(db: Database, rows: readonly (Row & { entity: number })[]) {
  const entities = await Promise.all(Array.from({ length: ENTITIES }, () => newEntity(db)));
  const models = entities.map((_, index) => rows.filter(({ entity }) => entity === index) as Row[]);
  return { entities, models };
}

function pageOf<Row>(rows: readonly Row[], { page, limit }: { page: number; limit: number }): Row[] {
  return rows.slice((page - 1) * limit, page * limit);
}

async function walk<Row>(readPage: (page: number) => Promise<Row[]>): Promise<Row[]> {
  const seen: Row[] = [];
  for (let page = 1; page <= 10_000; page++) {
    const rows = await readPage(page);
    if (rows.length === 0) return seen;
    seen.push(...rows);
  }
  throw new Error('the pages have no end');
}

/** As a long day leaves them: most are delivered, the newest wait. */
function thousands(count: number): DeliverySeed[] {
  return Array.from({ length: count }, (_, index) => {
    const status = index > count - 200 ? 'retrying' : (DELIVERY_STATUSES[index % 40] ?? 'delivered');
    const waits = status === 'pending' || status === 'retrying';
    // Over two days, so that whole buckets of the counters lie between the pages.
    const createdAtMs = FIRST_S * 1000 + Math.floor(index / 3) * 170_000;
    return {
      eventId: `evt_${index >> 1}`,
      webhookId: status === 'held' ? 'wh_held' : `wh_${index % 5}`,
      event: EVENTS[index % 3] ?? '',
      networkId: NETWORKS[index % 4] ?? 0,
      postUrl: 'https://example.com/',
      status,
      attempts: status === 'pending' ? 0 : 1 + (index % 4),
      createdAtMs,
      nextAttemptMs: waits ? createdAtMs + (index % 7) * 60_000 : null,
      deliveredAtMs: status === 'delivered' ? createdAtMs + 80 : null,
      lastStatusCode: 200,
      lastError: null,
    };
  });
}
