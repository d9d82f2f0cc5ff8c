import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { WebhookListCache } from '../../../src/api/routes/webhooks/list-cache.ts';
import type { NetworkEvent, Webhook, WebhookList, WebhookListQuery } from '../../../src/contract/webhooks.ts';
import { EVENT_KINDS } from '../../../src/domain/event-kinds.ts';
import { MAX_NETWORK_ID } from '../../../src/domain/networks.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { findRevision } from '../../../src/store/tenants/entities.ts';
import { listWebhooks } from '../../../src/store/webhooks/list.ts';
import { call, testApp, WEBHOOKS } from '../../support/api.ts';
import { withAndWithoutSettings } from '../../support/every-setting.ts';
import { suiteRuns } from '../../support/suite.ts';
import {
  listFromModel,
  listQuery,
  matchesInModel,
  NOW_S,
  newEntity,
  register,
  seedWebhooks,
  wrongCounters,
} from '../../support/webhooks.ts';

/** Few values, so that webhooks collide; urls that a locale would put in another order than their bytes. */
const NETWORKS = [0, 1, 8453, MAX_NETWORK_ID];
const STORED_EVENTS = [...EVENT_KINDS.slice(0, 3), 'RefundIssued'];
const URLS = ['a', 'A', 'b', 'B', '_', '-', '~', 'a-b', 'ab', 'a_b', 'aB', 'a%20b', 'a.b', '', '10', '9', '%C3%A9']
  .map((path) => `https://example.com/${path}`)
  .concat('https://EXAMPLE.com/a', 'https://example.com:8443/a', 'https://example.com');

const ENTITIES = 3;
const ADMIN_KEY = 'operator-key-0123456789-abcdefghij';

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

/** `idOf` and `pick` choose whose webhook's id to filter by, which may be another entity's, or none: no filter. */
const questions: fc.Arbitrary<Asked[]> = fc.array(
  fc.record({ entity: entityIndex, idOf: fc.nat({ max: ENTITIES * 2 }), pick: fc.nat({ max: 20 }), query: anyQuery }),
  { minLength: 1, maxLength: 8 },
);

/** A path to a list: repeated requests take another one than the first. */
type Path = (entityId: string, query: WebhookListQuery) => Promise<WebhookList>;

withAndWithoutSettings('any list of any webhooks', (store, useSettings) => {
  const paths: [string, () => Path][] = [
    ['from the store', () => fromStore(store.db)],
    ['from a snapshot in memory', () => fromSnapshot(store.db)],
    ['over HTTP, where responses are kept', () => overHttp(store.db)],
  ];
  test.each(paths)('%s equals what a plain array gives, also after more were registered', async (_name, openPath) => {
    await fc.assert(
      fc.asyncProperty(registrations, registrations, questions, async (made, madeLater, asked) => {
        const path = openPath();
        const world = await newWorld(store.db);
        for (const registered of [made, madeLater]) {
          await registerAll(store.db, world, registered);
          if (registered === made) await Promise.all(world.entities.map(useSettings));
          for (const { entity, idOf, pick, query: given } of asked) {
            const webhookId = world.models[idOf]?.[pick]?.webhookId;
            const query = listQuery({ ...given, ...(webhookId === undefined ? {} : { webhookId }) });
            await expectAsModel(path, world.entities[entity] ?? '', world.models[entity] ?? [], query);
          }
        }
      }),
      { numRuns: suiteRuns(2, 20) },
    );
    expect(await wrongCounters(store.db)).toEqual([]);
  });
});

function fromStore(db: Database): Path {
  return (entityId, query) => listWebhooks(db, entityId, query);
}

/** Requested twice with different query strings, so that the second comes from the snapshot; its JSON is the same. */
function fromSnapshot(db: Database): Path {
  const { cache, counts } = countedCache(db);
  let requests = 0;
  return async (entityId, query) => {
    const caller = { entityId, revision: (await findRevision(db, entityId)) ?? 0 };
    const request = () => cache.respond(new Request('http://localhost/'), caller, query, `request=${++requests}`);
    await request();
    const before = counts.view ?? 0;
    const json = await (await request()).text();
    expect(counts.view ?? 0).toBe(before + (query.webhookId === undefined ? 1 : 0));
    expect(json).toBe(JSON.stringify(await listWebhooks(db, entityId, query)));
    return JSON.parse(json) as WebhookList;
  };
}

/** Requested three times, so that the last response is a kept one; all three are the same. */
function overHttp(db: Database): Path {
  const { cache, counts } = countedCache(db);
  const app = testApp(db, { ADMIN_KEY }, { webhookLists: cache });
  return async (entityId, query) => {
    const search = Object.entries(query).map(([name, value]) => `${name}=${value}`);
    const request = async () => {
      const response = await call(app, { entityId, apiKey: ADMIN_KEY, keyId: '' }, `${WEBHOOKS}?${search.join('&')}`);
      expect(response.status).toBe(200);
      return response.text();
    };
    const first = await request();
    expect(await request()).toBe(first);
    const before = counts.kept ?? 0;
    expect(await request()).toBe(first);
    expect(counts.kept).toBe(before + 1);
    return JSON.parse(first) as WebhookList;
  };
}

function countedCache(db: Database) {
  const counts: Record<string, number> = {};
  const count = (source: string) => {
    counts[source] = (counts[source] ?? 0) + 1;
  };
  const cache = new WebhookListCache(db, { of: (source) => ({ value: 0, inc: () => count(String(source)) }) });
  return { cache, counts };
}

withAndWithoutSettings('a list of thousands', (store, useSettings) => {
  test('equals what a plain array gives on every page, from either end, with and without filters', async () => {
    const entityId = await newEntity(store.db);
    const cells = NETWORKS.flatMap((networkId) => STORED_EVENTS.map((event) => ({ networkId, event })));
    const seeds = Array.from(
      { length: suiteRuns(13, 300) },
      (_, index) => `${URLS[index % URLS.length]}/${index % 7}/${index}`,
    ).flatMap((postUrl) => cells.map((cell) => ({ ...cell, postUrl })));
    const model = await seedWebhooks(store.db, entityId, seeds);
    await useSettings(entityId);
    const filters = [{}, { networkId: 1 }, { event: EVENT_KINDS[1] }, { networkId: 8453, event: EVENT_KINDS[0] }];
    for (const filter of filters) {
      for (const sortBy of ['dateCreated', 'postUrl'] as const) {
        for (const sortDir of ['asc', 'desc'] as const) {
          await expectAsModel(
            fromStore(store.db),
            entityId,
            model,
            listQuery({ ...filter, sortBy, sortDir, limit: 97 }),
          );
        }
      }
    }
  });
});

async function expectAsModel(path: Path, entityId: string, model: readonly Webhook[], query: WebhookListQuery) {
  expect(await path(entityId, query)).toEqual(listFromModel(model, query));
  expect(await walkPages(path, entityId, query)).toEqual(matchesInModel(model, query));
}

type World = {
  readonly entities: readonly string[];
  /** What each entity has, in order of creation. */
  readonly models: readonly Webhook[][];
  nowS: number;
  /** The newest time at which an entity was written to, also by a registration that changed nothing. */
  readonly writtenAt: number[];
};

async function newWorld(db: Database): Promise<World> {
  const entities = await Promise.all(Array.from({ length: ENTITIES }, () => newEntity(db)));
  return { entities, models: entities.map(() => []), nowS: NOW_S, writtenAt: [] };
}

/** Registers in the store and in the model, and checks each result against the rules. */
async function registerAll(db: Database, world: World, made: readonly Registration[]) {
  const { entities, models, writtenAt } = world;
  for (const { entity, postUrl, pairs, clockStepS } of made) {
    world.nowS += clockStepS;
    const { nowS } = world;
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

async function walkPages(path: Path, entityId: string, query: WebhookListQuery): Promise<Webhook[]> {
  const seen: Webhook[] = [];
  for (let page = 1; ; page++) {
    const { webhooks } = await path(entityId, { ...query, page });
    if (webhooks.length === 0) return seen;
    seen.push(...webhooks);
  }
}
