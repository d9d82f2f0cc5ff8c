import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { EVENT_KINDS } from '../../src/domain/events.ts';
import { MAX_NETWORK_ID } from '../../src/domain/networks.ts';
import type { NetworkEvent, Webhook, WebhookListQuery } from '../../src/domain/webhooks.ts';
import type { Database } from '../../src/store/database.ts';
import { listWebhooks } from '../../src/store/webhook-list.ts';
import { onEveryEngine } from '../support/stores.ts';
import {
  listFromModel,
  listQuery,
  matchesInModel,
  NOW_S,
  newEntity,
  register,
  seedWebhooks,
  wrongCounters,
} from '../support/webhooks.ts';

/** Few values, so that webhooks collide; urls that a locale would put in another order than their bytes. */
const NETWORKS = [0, 1, 8453, MAX_NETWORK_ID];
const STORED_EVENTS = [...EVENT_KINDS.slice(0, 3), 'RefundIssued'];
const URLS = ['a', 'A', 'b', 'B', '_', '-', '~', 'a-b', 'ab', 'a_b', 'aB', 'a%20b', 'a.b', '', '10', '9', '%C3%A9']
  .map((path) => `https://example.com/${path}`)
  .concat('https://EXAMPLE.com/a', 'https://example.com:8443/a', 'https://example.com');

const ENTITIES = 3;

type Registration = { entity: number; postUrl: string; pairs: NetworkEvent[]; clockStepS: number };

const entityIndex = fc.nat({ max: ENTITIES - 1 });

const registrations: fc.Arbitrary<Registration[]> = fc.array(
  fc.record({
    entity: entityIndex,
    postUrl: fc.constantFrom(...URLS),
    pairs: fc.uniqueArray(
      fc.record({ networkId: fc.constantFrom(...NETWORKS), event: fc.constantFrom(...STORED_EVENTS) }),
      { minLength: 1, maxLength: 5, selector: ({ networkId, event }) => `${networkId} ${event}` },
    ),
    clockStepS: fc.integer({ min: -3, max: 3 }),
  }),
  { minLength: 1, maxLength: 16 },
);

type Asked = { entity: number; idOf: number; pick: number; query: Partial<WebhookListQuery> };

const anyQuery = fc.record(
  {
    networkId: fc.constantFrom(...NETWORKS, 7),
    event: fc.constantFrom(...EVENT_KINDS.slice(0, 4)),
    page: fc.integer({ min: 1, max: 5 }),
    limit: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constant(100)),
    sortBy: fc.constantFrom('dateCreated' as const, 'postUrl' as const),
    sortDir: fc.constantFrom('asc' as const, 'desc' as const),
  },
  { requiredKeys: [] },
);

/** `idOf` and `pick` choose whose webhook's id to filter by, which may be another entity's, or nobody's: no filter. */
const questions: fc.Arbitrary<Asked[]> = fc.array(
  fc.record({ entity: entityIndex, idOf: fc.nat({ max: ENTITIES * 2 }), pick: fc.nat({ max: 20 }), query: anyQuery }),
  { minLength: 1, maxLength: 8 },
);

onEveryEngine('any list of any webhooks', (store) => {
  test('equals what a plain array gives, page by page and walked to the end', async () => {
    await fc.assert(
      fc.asyncProperty(registrations, questions, async (made, asked) => {
        const entities = await Promise.all(Array.from({ length: ENTITIES }, () => newEntity(store.db)));
        const models: Webhook[][] = entities.map(() => []);
        await registerAll(store.db, entities, models, made);
        for (const { entity, idOf, pick, query: given } of asked) {
          const webhookId = models[idOf]?.[pick]?.webhookId;
          const query = listQuery({ ...given, ...(webhookId === undefined ? {} : { webhookId }) });
          await expectAsModel(store.db, entities[entity] ?? '', models[entity] ?? [], query);
        }
      }),
      { numRuns: 60 },
    );
    expect(await wrongCounters(store.db)).toEqual([]);
  });
});

onEveryEngine('a list of thousands', (store) => {
  test('equals what a plain array gives on every page, from either end, with and without filters', async () => {
    const entityId = await newEntity(store.db);
    const cells = NETWORKS.flatMap((networkId) => STORED_EVENTS.map((event) => ({ networkId, event })));
    const seeds = Array.from(
      { length: 300 },
      (_, index) => `${URLS[index % URLS.length]}/${index % 7}/${index}`,
    ).flatMap((postUrl) => cells.map((cell) => ({ ...cell, postUrl })));
    const model = await seedWebhooks(store.db, entityId, seeds);
    const filters = [{}, { networkId: 1 }, { event: EVENT_KINDS[1] }, { networkId: 8453, event: EVENT_KINDS[0] }];
    for (const filter of filters) {
      for (const sortBy of ['dateCreated', 'postUrl'] as const) {
        for (const sortDir of ['asc', 'desc'] as const) {
          await expectAsModel(store.db, entityId, model, listQuery({ ...filter, sortBy, sortDir, limit: 97 }));
        }
      }
    }
  });
});

async function expectAsModel(db: Database, entityId: string, model: readonly Webhook[], query: WebhookListQuery) {
  expect(await listWebhooks(db, entityId, query)).toEqual(listFromModel(model, query));
  expect(await walkPages(db, entityId, query)).toEqual(matchesInModel(model, query));
}

/** Registers for real and in the model, and holds each answer to the rules on the way. */
async function registerAll(db: Database, entities: string[], models: Webhook[][], made: readonly Registration[]) {
  let nowS = NOW_S;
  // The newest moment at which the entity was written to, also by a registration that found all of it there.
  const writtenAt: number[] = [];
  for (const { entity, postUrl, pairs, clockStepS } of made) {
    nowS += clockStepS;
    const model = models[entity] ?? [];
    const { created, webhooks } = await register(db, entities[entity] ?? '', postUrl, pairs, { nowS });
    expect(webhooks.map(({ networkId, event }) => ({ networkId, event }))).toEqual(pairs);
    const fresh = webhooks.filter(({ webhookId }) => !model.some((known) => known.webhookId === webhookId));
    expect(fresh).toHaveLength(created);
    const dateCreated = Math.max(nowS, writtenAt[entity] ?? 0);
    writtenAt[entity] = dateCreated;
    for (const webhook of fresh) expect(webhook).toMatchObject({ postUrl, dateCreated });
    model.push(...fresh);
  }
}

async function walkPages(db: Database, entityId: string, query: WebhookListQuery): Promise<Webhook[]> {
  const seen: Webhook[] = [];
  for (let page = 1; ; page++) {
    const { webhooks } = await listWebhooks(db, entityId, { ...query, page });
    if (webhooks.length === 0) return seen;
    seen.push(...webhooks);
  }
}
