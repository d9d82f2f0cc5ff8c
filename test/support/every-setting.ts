import type { Webhook } from '../../src/contract/webhooks.ts';
import type { PayloadFilter } from '../../src/domain/payload-filter/payload-filter.ts';
import type { Database } from '../../src/store/database/database.ts';
import { addEndpoints } from '../../src/store/endpoints/lifecycle.ts';
import { walkWebhooks } from '../../src/store/webhooks/export.ts';
import { assignFilter, readFilters } from '../../src/store/webhooks/filters.ts';
import { suspendWebhook } from '../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from './api.ts';
import { accept, newEvent } from './deliveries.ts';
import { configure, endpointsOf } from './endpoints.ts';
import { onEveryEngine, type TestStore } from './stores.ts';

/**
 * The same tests on every engine for two kinds of entities: those that have webhooks alone, and those with every setting beside
 * them, which is what `useSettings` makes of an entity. Nothing of it may change the list of webhooks.
 */
export function withAndWithoutSettings(
  name: string,
  tests: (store: TestStore, useSettings: (entityId: string) => Promise<void>) => void,
): void {
  onEveryEngine(name, (store) => tests(store, async () => undefined));
  onEveryEngine(`${name}, of entities with every setting`, (store) =>
    tests(store, (entityId) => useEverySetting(store.db, entityId)),
  );
}

/** Every webhook gets one of these. */
const FILTERS: readonly (PayloadFilter | null)[] = [
  null,
  { token: ['0xA0b8'] },
  { amount: { min: '100', max: '999.99' } },
];

/** Each costs some statements. */
const MOST_ENDPOINTS = 2;

/**
 * Gives the webhooks of the entity filters and suspends one of them; gives its first endpoints a name, order, a pause, headers,
 * a rate limit and a secret of their own; and lets events of one agreement wait for them.
 */
async function useEverySetting(db: Database, entityId: string): Promise<void> {
  const webhooks = (await Array.fromAsync(walkWebhooks(db, entityId))).flat();
  await setFilters(db, entityId, webhooks);
  const urls = webhooks.map(({ postUrl }) => postUrl);
  await db.transaction((queries) => addEndpoints(queries, db.dialect, entityId, urls));
  const endpoints = await endpointsOf(db, entityId, { limit: MOST_ENDPOINTS });
  for (const [index, { postUrl }] of endpoints.entries()) {
    await configure(db, entityId, postUrl, {
      name: `Endpoint ${index}`,
      ordering: 'agreement',
      paused: index % 2 === 0,
      headers: { authorization: 'Bearer gateway-key' },
      rateLimit: 5 + index,
      secret: 'own',
    });
  }
  for (const { networkId, event, webhookId } of webhooks.slice(0, 1)) {
    const body = JSON.stringify({ networkId, event, agreementId: 'a', token: '0xa0B8', amount: '100' });
    const waiting = Array.from({ length: 2 }, () => newEvent(entityId, { networkId, event, agreementId: 'a', body }));
    await accept(db, ...waiting);
    await suspendWebhook(db, entityId, webhookId, 'failing', TEST_CHANGE);
  }
}

async function setFilters(db: Database, entityId: string, webhooks: readonly Webhook[]): Promise<void> {
  const ids = webhooks.map(({ webhookId }) => webhookId);
  const stored = await readFilters(db, entityId, ids);
  await db.transaction(async (queries) => {
    for (const [remainder, filter] of FILTERS.entries()) {
      const some = stored.filter((_, index) => index % FILTERS.length === remainder);
      await assignFilter(queries, entityId, some, filter);
    }
  });
}
