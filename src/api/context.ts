import type { Config } from '../config.ts';
import type { Webhook } from '../contract/webhooks.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics/paybell-metrics.ts';
import type { Database } from '../store/database/database.ts';
import type { Backlog } from '../store/deliveries/backlog.ts';
import type { AttemptRecord } from '../store/deliveries/record-attempts.ts';
import type { AcceptQueue } from '../store/events/accept-queue.ts';
import type { KeyHolder } from '../store/tenants/api-keys.ts';
import type { Change } from '../store/tenants/audit.ts';
import type { SecretBox } from '../store/tenants/secret-box.ts';
import type { WebhookListCache } from '../store/webhooks/list-cache.ts';
import type { KeyUsage } from './auth/key-usage.ts';
import type { Measured, RateLimits } from './auth/rate-limits.ts';
import type { SharedLookup } from './auth/shared-lookup.ts';
import type { ResponseCache } from './http/response-cache.ts';

/** What the whole app stands on; tests put their own store and clock in. */
export type ApiContext = {
  readonly config: Config;
  readonly db: Database;
  readonly box: SecretBox;
  readonly log: Logger;
  readonly acceptQueue: AcceptQueue;
  readonly backlog: Backlog;
  readonly keyUsage: KeyUsage;
  /** Who holds the key with this hash, asked once for all requests that come together. */
  readonly keyHolders: SharedLookup<KeyHolder>;
  readonly answers: ResponseCache;
  readonly views: WebhookListCache;
  readonly limits: RateLimits;
  readonly metrics: Metrics;
  /** Wakes whoever delivers: something may be due. */
  readonly onWork: () => void;
  /** Works on the bulk redeliveries that were started. */
  readonly runRedeliveries: () => void;
  /** Posts a body to a webhook now, outside the queue. */
  readonly sendTest: (caller: Caller, webhook: Webhook, eventId: string, body: string) => Promise<AttemptRecord>;
  readonly nowMs: () => number;
  /** False while starting and from the first sign of stopping on. */
  readonly isReady: () => boolean;
};

/** What is known of a request on its way through, for its log line and its answer. */
export type RequestState = {
  readonly requestId: string;
  route: string | null;
  entityId: string | null;
  /** Who sent it, past the proxies that are trusted; asked for only where it matters. */
  readonly clientAddress: () => string | null;
  /** By which limit it was measured; null under none. */
  measured: Measured | null;
};

/** Whoever passed authentication: a key of the entity, or the operator acting for it. */
export type Caller = {
  /** The audit's name for whoever it is: the id of the key, or `operator`. */
  readonly keyId: string;
  readonly entityId: string;
  readonly revision: number;
  readonly permissions: ReadonlySet<string>;
};

/** Whoever holds ADMIN_KEY, where no entity is named. */
export type Operator = { readonly keyId: string };

export function changeBy(context: ApiContext, caller: Pick<Caller, 'keyId'>): Change {
  return { actor: caller.keyId, nowS: nowS(context) };
}

export function nowS(context: ApiContext): number {
  return Math.floor(context.nowMs() / 1000);
}
