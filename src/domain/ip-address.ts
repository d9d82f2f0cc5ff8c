import ipaddr from 'ipaddr.js';

/** Azure answers its metadata and health probes here: a public-looking address that is only ever the host's own. */
const AZURE_PLATFORM_ADDRESS = '168.63.129.16';

/**
 * All that IANA has given out as global unicast. ipaddr.js calls everything it has no name for unicast, which lets the
 * IPv4-compatible `::7f00:1` (127.0.0.1) and all unassigned space pass.
 */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Whether a literal address is one of the public internet; a text of which we are not sure is not. */
export function isPublicAddress(address: string): boolean {
  // Only four plain decimals: `0177.1` means another address to another reader.
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) {
    return address !== AZURE_PLATFORM_ADDRESS && ipaddr.IPv4.parse(address).range() === 'unicast';
  }
  // A zone id binds the address to one of our own links, so it is never public.
  if (address.includes('%') || !ipaddr.IPv6.isValid(address)) return false;
  const parsed = ipaddr.IPv6.parse(address);
  // Mapped, NAT64, 6to4 and Teredo addresses have range names of their own, since each can carry a private IPv4 one.
  return parsed.range() === 'unicast' && parsed.match(GLOBAL_UNICAST_V6);
}

/** One text for each address, so that two of them can be compared; what is no address stays as it is. */
export function canonicalAddress(address: string): string {
  return ipaddr.IPv6.isValid(address) ? ipaddr.IPv6.parse(address).toNormalizedString() : address;
}
