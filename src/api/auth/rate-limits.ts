import type { Config } from '../../config.ts';
import { ACTORS } from '../../contract/audit.ts';
import { Problem } from '../../contract/problems.ts';
import { BoundedMap } from '../../domain/bounded-map.ts';
import { addressBlock } from '../../domain/client-address.ts';
import type { Metrics } from '../../metrics/paybell-metrics.ts';
import type { RequestState } from '../context.ts';
import { type Grant, TokenBuckets } from './token-buckets.ts';

/** Ten tries a second are more than a typing error needs, and far too few to find a key. */
const FAILED_LOGINS = { perSecond: 10, burst: 50 };
const MAX_GOOD_KEYS = 10_000;

/** Which limit a request falls under: events have their own, and a batch counts as many as it holds. */
export type Limited = 'requests' | 'event' | 'batch';

/** The limit that a request was measured by, for the headers of its answer. */
export type Measured = { readonly limit: Limit; readonly keyId: string };

class Limit {
  readonly #policy: string;
  readonly buckets: TokenBuckets;

  constructor(
    private readonly name: 'default' | 'events',
    rate: { perSecond: number; burst: number },
    clock?: () => number,
  ) {
    this.buckets = new TokenBuckets(rate, clock);
    // The whole bucket and the time in which it fills up: so that what remains is never more than the quota.
    this.#policy = `"${name}";q=${rate.burst};w=${Math.ceil(rate.burst / rate.perSecond)}`;
  }

  /** As in draft-ietf-httpapi-ratelimit-headers-10. */
  setHeaders(headers: Headers, keyId: string): void {
    const { remaining, fullInS } = this.buckets.look(keyId);
    headers.set('ratelimit-policy', this.#policy);
    headers.set('ratelimit', `"${this.name}";r=${remaining};t=${fullInS}`);
  }
}

/** The limits of this process: in memory, since a limit is there to save work and not to make some. */
export class RateLimits {
  readonly #requests: Limit | null;
  readonly #events: Limit | null;
  readonly #failures: TokenBuckets;
  /** Hashes of keys that were right: a neighbour's wrong ones behind the same proxy must not lock them out. */
  readonly #goodKeys = new BoundedMap<string, true>(MAX_GOOD_KEYS);

  constructor(
    config: Pick<Config, 'RATE_LIMIT' | 'EVENT_RATE_LIMIT'>,
    private readonly metrics: Metrics,
    clock?: () => number,
  ) {
    const { RATE_LIMIT, EVENT_RATE_LIMIT } = config;
    this.#requests = RATE_LIMIT === 'off' ? null : new Limit('default', RATE_LIMIT, clock);
    this.#events = EVENT_RATE_LIMIT === 'off' ? null : new Limit('events', EVENT_RATE_LIMIT, clock);
    this.#failures = new TokenBuckets(FAILED_LOGINS, clock);
  }

  admit(state: RequestState, keyId: string, limited: Limited): void {
    const limit = limited === 'requests' ? this.#requests : this.#events;
    if (limit === null || isExempt(keyId)) return;
    state.measured = { limit, keyId };
    // How many a batch holds is known only after it was read: here it needs room for one.
    const grant = limited === 'batch' ? limit.buckets.look(keyId) : limit.buckets.take(keyId);
    if (grant.granted > 0 || (limited === 'batch' && grant.remaining > 0)) return;
    const what = limited === 'requests' ? 'requests' : 'events';
    this.metrics.rateLimited.of(what).inc();
    throw tooMany(`This key has used up its ${what}.`, grant);
  }

  /** How many of the events of a batch there is room for; each beyond is refused on its own. */
  admitEvents(keyId: string, wanted: number): { admitted: number; refusal: Problem } {
    const limit = isExempt(keyId) ? null : this.#events;
    const grant = limit?.buckets.take(keyId, wanted) ?? { granted: wanted, retryAfterS: 0 };
    if (grant.granted < wanted) this.metrics.rateLimited.of('events').inc(wanted - grant.granted);
    return { admitted: grant.granted, refusal: tooMany('This key has used up its events.', grant) };
  }

  /** Before a key is looked up: an address that has tried too many wrong ones has to wait, unless this one was right. */
  requirePatience(clientAddress: () => string | null, keyHash: string): void {
    // Most processes never see a wrong key, and then nobody has to know where a request comes from.
    if (this.#failures.size === 0) return;
    const address = clientAddress();
    if (address === null) return;
    const stands = this.#failures.look(addressBlock(address));
    if (stands.remaining > 0 || this.#goodKeys.has(keyHash)) return;
    this.metrics.rateLimited.of('authentication').inc();
    throw tooMany('Too many requests from this address came without a valid key.', stands);
  }

  noteFailure(clientAddress: () => string | null): void {
    const address = clientAddress();
    if (address !== null) this.#failures.take(addressBlock(address));
  }

  noteSuccess(keyHash: string): void {
    if (!this.#goodKeys.has(keyHash)) this.#goodKeys.set(keyHash, true);
  }
}

/** Whoever holds ADMIN_KEY sets the limits, and speaks with one key for all entities. */
function isExempt(keyId: string): boolean {
  return keyId === ACTORS.operator;
}

function tooMany(what: string, { retryAfterS }: Pick<Grant, 'retryAfterS'>): Problem {
  const seconds = Math.max(1, retryAfterS);
  return new Problem('rate_limited', `${what} Try again in ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  });
}
