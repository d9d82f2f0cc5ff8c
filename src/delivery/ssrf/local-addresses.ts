import os from 'node:os';
import { canonicalAddress } from '../../domain/ip-address.ts';

/** Interfaces come and go with containers and leases; reading them takes some 25 µs, so that this costs nothing. */
const READ_EVERY_MS = 5_000;

/**
 * The addresses of this machine itself. A public one among them is as good as loopback: what is sent there never passes
 * the firewall that keeps others off the ports behind it.
 */
export function ownAddresses(nowMs: () => number): () => ReadonlySet<string> {
  let addresses: ReadonlySet<string> = new Set();
  let readAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (Math.abs(nowMs() - readAtMs) >= READ_EVERY_MS) {
      readAtMs = nowMs();
      const all = Object.values(os.networkInterfaces()).flatMap((infos) => infos ?? []);
      addresses = new Set(all.map(({ address }) => canonicalAddress(address)));
    }
    return addresses;
  };
}
