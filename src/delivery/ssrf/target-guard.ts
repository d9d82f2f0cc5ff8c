import { BoundedMap } from '../../bounded-map.ts';
import { canonicalAddress, isPublicAddress } from '../../domain/ip-address.ts';
import { addressLiteralOf } from '../../domain/post-url.ts';
import { ownAddresses } from './local-addresses.ts';

/** All addresses of a name; rejects or comes back empty when there are none. */
export type Resolve = (hostname: string) => Promise<string[]>;

/** The addresses that passed the check, to be dialled as they are: a second look-up could be answered differently. */
export type Target = { ok: true; addresses: readonly string[] } | { ok: false; error: 'dns' | 'blocked_address' };

/** A host as the URL parser writes it; `literal` where whoever asks knows already whether it is an address. */
export type Host = { readonly hostname: string; readonly literal?: string | null };

/** At once where nothing has to be looked up. */
export type TargetGuard = (host: Host) => Target | Promise<Target>;

export interface TargetGuardOptions {
  allowInsecureTargets: boolean;
  resolve?: Resolve;
  nowMs?: () => number;
  /** In their canonical form; those of this machine's interfaces when absent. */
  own?: () => ReadonlySet<string>;
}

/** Thousands of deliveries a second to one host make one look-up in this time, and a changed record is soon seen. */
const CACHE_TTL_MS = 3_000;
const CACHE_MAX_ENTRIES = 10_000;
/** After this a look-up that never ended is no longer shared, so that it cannot hold its name for ever. */
const SHARED_LOOKUP_MAX_MS = 10_000;

interface Lookup {
  target: Target | Promise<Target>;
  expiresAtMs: number;
}

/** Resolves names and refuses a host unless every one of its addresses is public and not our own. */
export function createTargetGuard(options: TargetGuardOptions): TargetGuard {
  const { allowInsecureTargets, resolve = resolveName, nowMs = Date.now, own = ownAddresses(nowMs) } = options;
  const lookups = new BoundedMap<string, Lookup>(CACHE_MAX_ENTRIES);

  const isElsewhere = (address: string) => isPublicAddress(address) && !own().has(canonicalAddress(address));

  const check = (addresses: readonly string[]): Target => {
    if (addresses.length === 0) return { ok: false, error: 'dns' };
    // One private address among public ones is how a name is made to look harmless, so all of them must pass.
    const allowed = allowInsecureTargets || addresses.every(isElsewhere);
    return allowed ? { ok: true, addresses } : { ok: false, error: 'blocked_address' };
  };

  const startLookup = (hostname: string): Promise<Target> => {
    const target = resolve(hostname)
      .then(check, (): Target => ({ ok: false, error: 'dns' }))
      .then((found) => {
        lookup.target = found;
        lookup.expiresAtMs = nowMs() + CACHE_TTL_MS;
        return found;
      });
    const lookup: Lookup = { target, expiresAtMs: nowMs() + SHARED_LOOKUP_MAX_MS };
    lookups.set(hostname, lookup);
    return target;
  };

  return ({ hostname, literal = addressLiteralOf(hostname) }) => {
    if (literal !== null) return check([literal]);
    const known = lookups.get(hostname);
    return known !== undefined && known.expiresAtMs > nowMs() ? known.target : startLookup(hostname);
  };
}

/**
 * c-ares, because it waits for answers without a thread: node:dns takes one of a few threads for each look-up, and
 * behind 200 names whose servers never answered a good name got nothing for 6 s there, and its address in 1 ms here.
 */
async function resolveName(hostname: string): Promise<string[]> {
  const records = await Bun.dns.lookup(hostname, { backend: 'c-ares' });
  return records.map((record) => record.address);
}
