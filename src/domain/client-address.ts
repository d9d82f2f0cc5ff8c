import ipaddr from 'ipaddr.js';

/** Who sent a request, where proxies stand in between. */

export type AddressRange = [address: ipaddr.IPv4 | ipaddr.IPv6, bits: number];

/** An address or a range such as `10.0.0.0/8`; null for anything else. */
export function parseAddressRange(text: string): AddressRange | null {
  const [address = '', bits, ...rest] = text.split('/');
  const parsed = parseAddress(address);
  if (parsed === null || rest.length > 0) return null;
  const most = parsed.kind() === 'ipv4' ? 32 : 128;
  if (bits === undefined) return [parsed, most];
  return /^[0-9]{1,3}$/.test(bits) && Number(bits) <= most ? [parsed, Number(bits)] : null;
}

/**
 * The right-most address that is none of a trusted proxy: everything to the left of it is only what that one claims.
 * Without a proxy that is the peer itself, and what it says of others does not count.
 */
export function clientAddress(
  peer: string | null,
  forwardedFor: string | null,
  trusted: readonly AddressRange[],
): string | null {
  if (peer === null || trusted.length === 0 || forwardedFor === null) return peer;
  let client = peer;
  const hops = forwardedFor.split(',');
  while (isTrusted(client, trusted)) {
    const hop = hops.pop();
    const address = hop === undefined ? null : withoutPort(hop.trim());
    // Nothing readable beyond this proxy: the proxy is the last of whom we know.
    if (address === null || parseAddress(address) === null) return client;
    client = address;
  }
  return client;
}

/** What one client may hold: an IPv4 address, or the 64 bits of an IPv6 one of which everybody gets a whole network. */
export function addressBlock(address: string): string {
  const parsed = parseAddress(address);
  if (parsed === null) return address;
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return (parsed as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':');
}

export function isLoopbackAddress(address: string): boolean {
  return parseAddress(address)?.range() === 'loopback';
}

function isTrusted(address: string, trusted: readonly AddressRange[]): boolean {
  const parsed = parseAddress(address);
  if (parsed === null) return false;
  return trusted.some(([network, bits]) => parsed.kind() === network.kind() && parsed.match(network as never, bits));
}

/** `::ffff:10.0.0.1` is the IPv4 address that it carries: so do sockets name it that listen for both. */
function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!ipaddr.IPv6.isValid(text)) return null;
  const parsed = ipaddr.IPv6.parse(text);
  return parsed.isIPv4MappedAddress() ? parsed.toIPv4Address() : parsed;
}

/** Some proxies write `203.0.113.7:4711` or `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([0-9.]+):\d+$/.exec(hop)?.[1] ?? hop;
}
