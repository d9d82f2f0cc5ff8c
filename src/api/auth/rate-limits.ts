import { BoundedMap } from '../../bounded-map.ts';
import type { Config } from '../../config.ts';
import { Problem } from '../../contract/problems.ts';
import { addressBlock } from '../../domain/ip-address.ts';
import { isOperator } from '../../domain/keys/api-keys.ts';
import type { Metrics } from '../../metrics/paybell-metrics.ts';

/** Ten failures a second are more than a typing error causes, and far too few to find a key. */
const FAILED_LOGINS: Rate = { perSecond: 10, burst: 50 };
/**
 * A receiver that honours `Cache-Control` reads a key set every few minutes, but many receivers can share an address.
 */
const OPEN_READS: Rate = { perSecond: 20, burst: 200 };
const MAX_BUCKETS = 50_000;
/** Full buckets are removed, so that checks cost nothing while no address has failed lately. */
const SWEEP_EVERY_MS = 1_000;

/** The limit for a request. Events have their own limit, and a batch counts for all of its events. */
export type Limited = 'requests' | 'event' | 'batch';

type Rate = { readonly perSecond: number; readonly burst: number };

/** The tokens granted, and the state of the bucket after that. */
type Grant = {
  granted: number;
  remaining: number;
  /** Seconds until the next token; 0 if there is a token now. */
  retryAfterS: number;
  /** Seconds until the bucket is full again. */
  fullInS: number;
};

/** The limit that a request was counted against, for the headers of its response; null for none. */
export type Counted = { counted: { readonly limit: Limit; readonly keyId: string } | null };

/** The limits of this process. They are in memory, because a limit must save work and not cause it. */
export class RateLimits {
  readonly #requests: Limit | null;
  readonly #events: Limit | null;
  readonly #failures: TokenBuckets;
  readonly #openReads: TokenBuckets;
  /**
   * Hashes of operators' keys and of METRICS_TOKEN that were valid before. Failures of other clients must not lock them
   * out.
   */
  readonly #operatorKeys = new Set<string>();

  constructor(
    config: Pick<Config, 'RATE_LIMIT' | 'EVENT_RATE_LIMIT'>,
    private readonly metrics: Metrics,
    clock?: () => number,
  ) {
    const { RATE_LIMIT, EVENT_RATE_LIMIT } = config;
    this.#requests = RATE_LIMIT === 'off' ? null : new Limit('default', RATE_LIMIT, clock);
    this.#events = EVENT_RATE_LIMIT === 'off' ? null : new Limit('events', EVENT_RATE_LIMIT, clock);
    this.#failures = new TokenBuckets(FAILED_LOGINS, clock);
    this.#openReads = new TokenBuckets(OPEN_READS, clock);
  }

  /** Counts the request, and throws when its limit is used up. */
  admit(request: Counted, keyId: string, limited: Limited): void {
    const limit = limited === 'requests' ? this.#requests : this.#events;
    if (limit === null || isOperator(keyId)) return;
    request.counted = { limit, keyId };
    // The size of a batch is known only after it was read. Until then, it needs a token for one event.
    const grant = limited === 'batch' ? limit.buckets.look(keyId) : limit.buckets.take(keyId);
    if (grant.granted > 0 || (limited === 'batch' && grant.remaining > 0)) return;
    const what = limited === 'requests' ? 'requests' : 'events';
    this.metrics.rateLimited.of(what).inc();
    throw tooMany(`This key has used up its ${what}.`, grant);
  }

  /** How many events of a batch are within the limit. Each event past it is rejected with `rejection`. */
  admitEvents(keyId: string, wanted: number): { admitted: number; rejection: Problem } {
    const limit = isOperator(keyId) ? null : this.#events;
    const grant = limit?.buckets.take(keyId, wanted) ?? { granted: wanted, retryAfterS: 0 };
    if (grant.granted < wanted) this.metrics.rateLimited.of('events').inc(wanted - grant.granted);
    return { admitted: grant.granted, rejection: tooMany('This key has used up its events.', grant) };
  }

  /** Counts a request that needs no credentials. Throws if its address has sent too many such requests. */
  admitAddress(clientAddress: () => string | null): void {
    const address = clientAddress();
    const grant = address === null ? null : this.#openReads.take(addressBlock(address));
    if (grant === null || grant.granted > 0) return;
    this.metrics.rateLimited.of('open').inc();
    throw tooMany('Too many requests came from this address.', grant);
  }

  /**
   * Counts an invalid key. Returns a problem if the address has sent too many invalid keys lately, otherwise null.
   * Valid keys of entities are accepted before this check, so failures of other clients with the same address never
   * affect them. These keys have too many random bits to be guessed.
   */
  recordFailure(clientAddress: () => string | null): Problem | null {
    const address = clientAddress();
    const grant = address === null ? null : this.#failures.take(addressBlock(address));
    return grant === null || grant.granted > 0 ? null : this.#tooManyFailures(grant);
  }

  /**
   * Admits a valid key of the operator. People choose these keys, so someone might guess one. An address with too many
   * failures is rejected even with the right key, unless that key was valid before.
   */
  admitOperator(clientAddress: () => string | null, keyHash: string): void {
    const address = this.#failures.size === 0 || this.#operatorKeys.has(keyHash) ? null : clientAddress();
    const failures = address === null ? null : this.#failures.look(addressBlock(address));
    if (failures !== null && failures.remaining === 0) throw this.#tooManyFailures(failures);
    this.#operatorKeys.add(keyHash);
  }

  #tooManyFailures(grant: Grant): Problem {
    this.metrics.rateLimited.of('authentication').inc();
    return tooMany('Too many requests from this address came without a valid key.', grant);
  }
}

class Limit {
  readonly #policy: string;
  readonly buckets: TokenBuckets;

  constructor(
    private readonly name: 'default' | 'events',
    rate: Rate,
    clock?: () => number,
  ) {
    this.buckets = new TokenBuckets(rate, clock);
    // The whole bucket and the time in which it fills up, so that `r` is never more than `q`.
    this.#policy = `"${name}";q=${rate.burst};w=${Math.ceil(rate.burst / rate.perSecond)}`;
  }

  /** The headers of draft-ietf-httpapi-ratelimit-headers-10. */
  setHeaders(headers: Headers, keyId: string): void {
    const { remaining, fullInS } = this.buckets.look(keyId);
    headers.set('ratelimit-policy', this.#policy);
    headers.set('ratelimit', `"${this.name}";r=${remaining};t=${fullInS}`);
  }
}

/**
 * A token bucket for each key, stored as one number: the time at which it will be full again. A full bucket equals one
 * that was never used, so it need not be stored.
 */
export class TokenBuckets {
  readonly #fullAtMs: BoundedMap<string, number>;
  #sweptAtMs = 0;
  readonly #tokenMs: number;

  constructor(
    readonly rate: Rate,
    /** A monotonic clock: with any other, a step back would lock every caller out. */
    private readonly clock: () => number = () => performance.now(),
    maxBuckets = MAX_BUCKETS,
  ) {
    this.#fullAtMs = new BoundedMap(maxBuckets);
    this.#tokenMs = 1_000 / rate.perSecond;
  }

  get size(): number {
    return this.#fullAtMs.size;
  }

  /** Takes the wanted tokens, or as many as there are. */
  take(key: string, wanted = 1): Grant {
    const nowMs = this.clock();
    if (nowMs - this.#sweptAtMs >= SWEEP_EVERY_MS) this.#deleteFull(nowMs);
    const missingMs = Math.max(0, (this.#fullAtMs.get(key) ?? 0) - nowMs);
    const available = Math.floor(this.rate.burst - missingMs / this.#tokenMs + 1e-6);
    const granted = Math.max(0, Math.min(wanted, available));
    const nowMissingMs = missingMs + granted * this.#tokenMs;
    if (granted > 0) this.#fullAtMs.set(key, nowMs + nowMissingMs);
    const nextInMs = nowMissingMs - (this.rate.burst - 1) * this.#tokenMs;
    return {
      granted,
      remaining: Math.max(0, available - granted),
      retryAfterS: nextInMs > 1e-3 ? Math.ceil(nextInMs / 1_000) : 0,
      fullInS: Math.ceil(nowMissingMs / 1_000),
    };
  }

  /** The state of the bucket, without taking anything. */
  look(key: string): Grant {
    return this.take(key, 0);
  }

  #deleteFull(nowMs: number): void {
    this.#sweptAtMs = nowMs;
    for (const [key, fullAtMs] of this.#fullAtMs) if (fullAtMs <= nowMs) this.#fullAtMs.delete(key);
  }
}

function tooMany(what: string, { retryAfterS }: Pick<Grant, 'retryAfterS'>): Problem {
  const seconds = Math.max(1, retryAfterS);
  return new Problem('rate_limited', `${what} Try again in ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  });
}
