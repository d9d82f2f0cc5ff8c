import type { Config } from '../config.ts';
import type { Webhook } from '../contract/webhooks.ts';
import type { Permission } from '../domain/keys/api-keys.ts';
import type { OperatorKey } from '../domain/keys/operator-keys.ts';
import type { SigningKeys } from '../domain/signing.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics/paybell-metrics.ts';
import type { Database } from '../store/database/database.ts';
import type { WriteProblem } from '../store/database/write-health.ts';
import type { EntityUsage } from '../store/deliveries/counts/usage.ts';
import type { AttemptRecord } from '../store/deliveries/record/attempt-log.ts';
import type { AcceptQueue } from '../store/events/accept-queue.ts';
import type { Change } from '../store/tenants/audit.ts';
import type { KeyLookup } from '../store/tenants/key-lookup.ts';
import type { SecretBox } from '../store/tenants/secret-box.ts';
import type { RequestSpan, Tracer } from '../telemetry/tracer.ts';
import type { Counted, RateLimits } from './auth/rate-limits.ts';
import type { ChainTools } from './chain-tools.ts';
import type { EventStreams } from './http/event-stream.ts';
import type { Feeds } from './routes/endpoints/feeds.ts';
import type { Listeners } from './routes/listen/listeners.ts';
import type { WebhookListCache } from './routes/webhooks/list-cache.ts';

/** A part of the process that deliveries, or the work after them, depend on. */
type FailingWorker = {
  readonly worker: string;
  readonly failuresInARow: number;
  readonly failingForSeconds: number;
  readonly lastError: string;
};

/** Everything that the app depends on; tests pass their own store and clock. */
export type ApiContext = {
  readonly config: Config;
  readonly db: Database;
  readonly box: SecretBox;
  readonly log: Logger;
  readonly acceptQueue: AcceptQueue;
  readonly usage: EntityUsage;
  readonly keys: KeyLookup;
  /** ADMIN_KEY and ADMIN_KEYS. */
  readonly operators: readonly OperatorKey[];
  readonly webhookLists: WebhookListCache;
  readonly limits: RateLimits;
  readonly streams: EventStreams;
  readonly feeds: Feeds;
  readonly listeners: Listeners;
  readonly metrics: Metrics;
  /** The text for a scrape: of this process, or of all processes that share its port. */
  readonly metricsText: () => Promise<string>;
  /** Null if OpenTelemetry is off. */
  readonly tracer: Tracer | null;
  /** Null if `CHAIN_RPC` is not set. */
  readonly chain: ChainTools | null;
  /** Wakes the dispatcher, because a delivery may be due. */
  readonly onWork: () => void;
  /** Wakes the job that runs tasks, because a request has started a task. */
  readonly onTask: () => void;
  /** Sends a body to a webhook now, outside the queue. */
  readonly sendTest: (
    caller: Caller,
    webhook: Webhook,
    request: { eventId: string; deliveryId: string; endpointNo: number; body: string },
  ) => Promise<AttemptRecord>;
  /** The headers of a request to a receiver, signed. */
  readonly headersFor: (signed: {
    deliveryId: string;
    eventId: string;
    body: string;
    keys: SigningKeys;
    nowS: number;
  }) => Record<string, string>;
  readonly nowMs: () => number;
  /** Workers of this process that keep failing, such as the one that claims deliveries. */
  readonly failingWorkers: () => readonly FailingWorker[];
  /** Why the database accepts no writes; null while it accepts them. */
  readonly writeProblem: () => Pick<WriteProblem, 'reason'> | null;
  /** False while the service starts, and from the moment it begins to stop. */
  readonly isReady: () => boolean;
};

/** Facts about a request that become known during its processing, for its log line and its response. */
export type RequestState = Counted & {
  readonly requestId: string;
  /** Null if its trace is not recorded. */
  span: RequestSpan | null;
  /** Path of the URL, as it was sent. */
  readonly path: string;
  /** The query string of the URL, as it was sent and without the `?`. */
  readonly search: string;
  route: string | null;
  entityId: string | null;
  /** The address of the client, past the trusted proxies. A function, because few requests need it. */
  readonly clientAddress: () => string | null;
  /** Exempts this request's connection from the limit on idle connections. */
  readonly keepOpen: () => void;
};

/** An authenticated client: the holder of one of the entity's keys, or the operator acting for the entity. */
export type Caller = {
  /** The actor in the audit log: the id of the entity's key or of the operator's key. */
  readonly keyId: string;
  readonly entityId: string;
  readonly revision: number;
  readonly permissions: ReadonlySet<string>;
  /** Expiry of an operator's key, which is not in the database. */
  readonly expiresAtMs?: number | null;
};

/** The holder of an operator's key, on paths outside of any entity. */
export type Operator = { readonly keyId: string; readonly permissions: readonly Permission[] };

/** Expiry of an operator's key, in Unix seconds. */
export function expiryOf({ expiresAtMs }: Caller): number | null {
  return expiresAtMs == null ? null : Math.floor(expiresAtMs / 1000);
}

export function changeBy(context: ApiContext, caller: Pick<Caller, 'keyId'>): Change {
  return { actor: caller.keyId, nowS: nowS(context) };
}

export function nowS(context: ApiContext): number {
  return Math.floor(context.nowMs() / 1000);
}
