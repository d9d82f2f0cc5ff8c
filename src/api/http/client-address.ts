import { type AddressRange, isInRange, parseAddress } from '../../domain/ip-address.ts';

/**
 * The right-most address that does not belong to a trusted proxy: any address to the left of it is only a claim of that
 * client. Without a trusted proxy, the client is the peer itself, and `x-forwarded-for` is ignored.
 */
export function clientAddress(
  peer: string | null,
  forwardedFor: string | null,
  trustedProxies: readonly AddressRange[],
): string | null {
  if (peer === null || trustedProxies.length === 0 || forwardedFor === null) return peer;
  let client = peer;
  const hops = forwardedFor.split(',');
  while (isTrusted(client, trustedProxies)) {
    const hop = hops.pop();
    const address = hop === undefined ? null : withoutPort(hop.trim());
    // Nothing readable precedes this proxy, so it is the last known address.
    if (address === null || parseAddress(address) === null) return client;
    client = address;
  }
  return client;
}

function isTrusted(address: string, trustedProxies: readonly AddressRange[]): boolean {
  const parsed = parseAddress(address);
  return parsed !== null && trustedProxies.some((range) => isInRange(parsed, range));
}

/** Some proxies write `203.0.113.7:4711` or `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([0-9.]+):\d+$/.exec(hop)?.[1] ?? hop;
}
