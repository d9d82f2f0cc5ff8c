import { type App, createApp } from '../../src/api/app.ts';
import { RateLimits } from '../../src/api/auth/rate-limits.ts';
import type { ApiContext } from '../../src/api/context.ts';
import { EventStreams } from '../../src/api/http/event-stream.ts';
import { Feeds } from '../../src/api/routes/endpoints/feeds.ts';
import { Listeners } from '../../src/api/routes/listen/listeners.ts';
import { WebhookListCache } from '../../src/api/routes/webhooks/list-cache.ts';
import { loadConfig, operatorKeys, storageLimitBytes } from '../../src/config.ts';
import { createAttemptTools, headersFor } from '../../src/delivery/attempt.ts';
import { sendTestRequest } from '../../src/delivery/test-request.ts';
import { PERMISSIONS, type Permission } from '../../src/domain/keys/api-keys.ts';
import { createLogger } from '../../src/log.ts';
import { Metrics } from '../../src/metrics/paybell-metrics.ts';
import type { Database } from '../../src/store/database/database.ts';
import { EntityUsage } from '../../src/store/deliveries/counts/usage.ts';
import { AcceptQueue } from '../../src/store/events/accept-queue.ts';
import { createApiKey } from '../../src/store/tenants/api-keys.ts';
import type { Change } from '../../src/store/tenants/audit.ts';
import { createEntity } from '../../src/store/tenants/entities.ts';
import { KeyLookup } from '../../src/store/tenants/key-lookup.ts';
import { SecretBox } from '../../src/store/tenants/secret-box.ts';

export type Tenant = { entityId: string; apiKey: string; keyId: string };

/** Seals with the SECRET_KEY of all tests. */
export const TEST_BOX = new SecretBox(new Uint8Array(32).fill(7));

/** The actor and time of changes, for tests that do not check them. */
export const TEST_CHANGE: Change = { actor: 'test', nowS: 1_700_000_000 };

export const WEBHOOKS = '/api/v1/crypto/webhooks/classic';

/**
 * The app without a port, on the given store. It has the given settings and otherwise the defaults, except for the rate
 * limits, which most tests would exceed.
 */
export function testApp(db: Database, settings: Record<string, string> = {}, overrides: Partial<ApiContext> = {}): App {
  const config = loadConfig({ RATE_LIMIT: 'off', EVENT_RATE_LIMIT: 'off', ...settings });
  const metrics = new Metrics();
  const nowMs = overrides.nowMs ?? Date.now;
  const log = createLogger('silent');
  const keys = new KeyLookup(db, nowMs);
  const feeds = overrides.feeds ?? new Feeds(db, log, config.FEED_LIMIT);
  const listeners = overrides.listeners ?? new Listeners();
  return createApp({
    config,
    db,
    box: TEST_BOX,
    log,
    feeds,
    listeners,
    acceptQueue: new AcceptQueue(db, {
      onDue: () => undefined,
      onAccepted: (entityId, destinations) => {
        feeds.watch.wake(destinations);
        listeners.wake(entityId);
      },
    }),
    usage: new EntityUsage(db, config.ENTITY_BACKLOG_LIMIT, storageLimitBytes(config)),
    keys,
    operators: operatorKeys(config),
    webhookLists: new WebhookListCache(db, metrics.listResponses),
    limits: new RateLimits(config, metrics, overrides.nowMs),
    streams: new EventStreams((keyHash) => keys.find(keyHash), log),
    metrics,
    metricsText: () => metrics.registry.text(),
    tracer: null,
    chain: null,
    onWork: () => undefined,
    onTask: () => undefined,
    sendTest: (...request) => sendTestRequest(createAttemptTools(config, db, TEST_BOX), ...request),
    headersFor,
    nowMs,
    failingWorkers: () => [],
    writeProblem: () => null,
    isReady: () => true,
    ...overrides,
  });
}

export async function createTenant(
  db: Database,
  permissions: readonly Permission[] = PERMISSIONS,
  expiresAt: number | null = null,
): Promise<Tenant> {
  return db.transaction(async (queries) => {
    const { entityId } = await createEntity(queries, TEST_BOX, 'Test', TEST_CHANGE);
    const key = await createApiKey(queries, entityId, { name: 'Test', permissions, expiresAt }, TEST_CHANGE);
    return { entityId, ...key };
  });
}

export type CallOptions = {
  method?: string;
  headers?: Record<string, string>;
  json?: unknown;
  body?: string | Uint8Array<ArrayBuffer>;
  /** The address of the client; unknown when absent. */
  from?: string;
  /** Told the seconds after which the connection may be closed when idle. */
  onTimeout?: (seconds: number) => void;
};

/** One request as the tenant, or without credentials when there is none. */
export function call(app: App, tenant: Tenant | null, path: string, options: CallOptions = {}): Promise<Response> {
  const credentials = tenant === null ? {} : { 'api-key': tenant.apiKey, 'entity-id': tenant.entityId };
  const body = options.json === undefined ? options.body : JSON.stringify(options.json);
  return app.fetch(
    new Request(`http://paybell.test${path}`, {
      method: options.method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...credentials,
        ...(options.json === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body }),
    }),
    {
      requestIP: () => (options.from === undefined ? null : { address: options.from }),
      timeout: (_request, seconds) => options.onTimeout?.(seconds),
    },
  );
}
