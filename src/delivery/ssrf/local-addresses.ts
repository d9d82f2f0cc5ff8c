import os from 'node:os';
import { canonicalAddress } from '../../domain/ip-address.ts';

/**
 * Addresses are read again, because interfaces come and go with containers and DHCP leases. Reading them takes about 25
 * µs.
 */
const READ_EVERY_MS = 5_000;

/**
 * The addresses of this machine. Its public addresses are as dangerous as loopback, because a request from this machine to them
 * bypasses its firewall.
 */
export function localAddresses(nowMs: () => number): () => ReadonlySet<string> {
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
