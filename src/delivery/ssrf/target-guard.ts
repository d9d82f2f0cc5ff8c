import { BoundedMap } from '../../bounded-map.ts';
import { canonicalAddress, isPublicAddress } from '../../domain/ip-address.ts';
import { addressLiteralOf } from '../../domain/post-url.ts';
import { fileShortage } from '../local-shortage.ts';
import { localAddresses } from './local-addresses.ts';

/** All addresses of a name; rejects or returns none if the name does not resolve. */
export type Resolve = (hostname: string) => Promise<string[]>;

/**
 * The addresses that passed the check. The connection must go to one of these, because a second lookup of the name could
 * return others.
 */
export type GuardedTarget =
  | { ok: true; addresses: readonly string[] }
  | { ok: false; error: 'dns' | 'blocked_address' };

/** A host as the URL parser writes it; `literal` if the caller knows already whether it is an address. */
export type Host = { readonly hostname: string; readonly literal?: string | null };

/** Synchronous if no lookup is needed. Rejects with a `LocalShortageError` if this process cannot look up a name now. */
export type TargetGuard = (host: Host) => GuardedTarget | Promise<GuardedTarget>;

export interface TargetGuardOptions {
  allowInsecureTargets: boolean;
  resolve?: Resolve;
  nowMs?: () => number;
}

/** Short, so that a changed DNS record soon takes effect. One lookup still serves thousands of requests to one host. */
const CACHE_TTL_MS = 3_000;
const CACHE_MAX_ENTRIES = 10_000;
/**
 * A lookup that takes longer is no longer shared, so that a lookup that never ends does not block its name for ever.
 */
const SHARED_LOOKUP_MAX_MS = 10_000;

interface Lookup {
  target: GuardedTarget | Promise<GuardedTarget>;
  sinceMs: number;
  ttlMs: number;
}

/**
 * Also rejects an answer from the future: if the clock was set back an hour, an answer would otherwise be used for an
 * hour.
 */
function isFresh({ sinceMs, ttlMs }: Lookup, nowMs: number): boolean {
  return nowMs >= sinceMs && nowMs < sinceMs + ttlMs;
}

/**
 * Protects against SSRF: resolves a host, and blocks it unless all its addresses are public and none belongs to this
 * machine.
 */
export function createTargetGuard(options: TargetGuardOptions): TargetGuard {
  const { allowInsecureTargets, resolve = resolveName, nowMs = Date.now } = options;
  const ours = localAddresses(nowMs);
  const lookups = new BoundedMap<string, Lookup>(CACHE_MAX_ENTRIES);

  const isAllowed = (address: string) => isPublicAddress(address) && !ours().has(canonicalAddress(address));

  const check = (addresses: readonly string[]): GuardedTarget => {
    if (addresses.length === 0) return { ok: false, error: 'dns' };
    // Every address must be allowed. Otherwise, a name with a public and a private address could lead to the private one.
    const areAllowed = allowInsecureTargets || addresses.every(isAllowed);
    return areAllowed ? { ok: true, addresses } : { ok: false, error: 'blocked_address' };
  };

  const startLookup = (hostname: string): Promise<GuardedTarget> => {
    const target = resolve(hostname)
      .then(check, (): GuardedTarget => {
        const shortage = fileShortage();
        if (shortage === null) return { ok: false, error: 'dns' };
        // The next attempt looks up the name again.
        if (lookups.get(hostname) === lookup) lookups.delete(hostname);
        throw shortage;
      })
      .then((found) => {
        Object.assign(lookup, { target: found, sinceMs: nowMs(), ttlMs: CACHE_TTL_MS });
        return found;
      });
    const lookup: Lookup = { target, sinceMs: nowMs(), ttlMs: SHARED_LOOKUP_MAX_MS };
    lookups.set(hostname, lookup);
    return target;
  };

  return ({ hostname, literal = addressLiteralOf(hostname) }) => {
    if (literal !== null) return check([literal]);
    const known = lookups.get(hostname);
    return known !== undefined && isFresh(known, nowMs()) ? known.target : startLookup(hostname);
  };
}

/**
 * Uses c-ares, which needs no thread while it waits. `node:dns` blocks one of a few threads for each lookup. With 200
 * names whose servers did not respond, a healthy name took more than 6 s in `node:dns`, and 1 ms in c-ares.
 */
async function resolveName(hostname: string): Promise<string[]> {
  const records = await Bun.dns.lookup(hostname, { backend: 'c-ares' });
  return records.map((record) => record.address);
}
