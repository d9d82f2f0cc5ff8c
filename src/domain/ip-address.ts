import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address and the number of its leading bits that count. */
export type AddressRange = [address: Address, bits: number];

/** Azure serves metadata and health probes here. The address looks public, but only ever belongs to the host itself. */
const AZURE_PLATFORM_ADDRESS = '168.63.129.16';

/**
 * The space that IANA assigns for global unicast. ipaddr.js reports `unicast` for everything that it has no name for,
 * which includes the IPv4-compatible `::7f00:1` (127.0.0.1) and all unassigned space.
 */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Whether a literal address belongs to the public internet. False in doubt. */
export function isPublicAddress(address: string): boolean {
  // Accepts only four plain decimals, because programs disagree about which address `0177.1` is.
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) {
    return address !== AZURE_PLATFORM_ADDRESS && ipaddr.IPv4.parse(address).range() === 'unicast';
  }
  // A zone id binds the address to a link of this machine, so it is never public.
  if (address.includes('%') || !ipaddr.IPv6.isValid(address)) return false;
  const parsed = ipaddr.IPv6.parse(address);
  // Mapped, NAT64, 6to4 and Teredo addresses can contain a private IPv4 address. Their ranges have names of their own.
  return parsed.range() === 'unicast' && parsed.match(GLOBAL_UNICAST_V6);
}

export function isLoopbackAddress(address: string): boolean {
  return parseAddress(address)?.range() === 'loopback';
}

/** The same text for every spelling of an address. Text that is not an address is returned unchanged. */
export function canonicalAddress(address: string): string {
  return ipaddr.IPv6.isValid(address) ? ipaddr.IPv6.parse(address).toNormalizedString() : address;
}

/**
 * The block that one client can hold: an IPv4 address, or the first 64 bits of an IPv6 address, since networks are that
 * large.
 */
export function addressBlock(address: string): string {
  const parsed = parseAddress(address);
  if (parsed === null) return address;
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':');
}

/** `::ffff:10.0.0.1` is the IPv4 address in it: sockets that listen for both families report it in this form. */
export function parseAddress(text: string): Address | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!ipaddr.IPv6.isValid(text)) return null;
  const parsed = ipaddr.IPv6.parse(text);
  return parsed.isIPv4MappedAddress() ? parsed.toIPv4Address() : parsed;
}

/** An address or a range such as `10.0.0.0/8`; null for anything else. */
export function parseAddressRange(text: string): AddressRange | null {
  const [address = '', bits, ...rest] = text.split('/');
  const parsed = parseAddress(address);
  if (parsed === null || rest.length > 0) return null;
  const maxBits = parsed.kind() === 'ipv4' ? 32 : 128;
  if (bits === undefined) return [parsed, maxBits];
  return /^[0-9]{1,3}$/.test(bits) && Number(bits) <= maxBits ? [parsed, Number(bits)] : null;
}

export function isInRange(address: Address, [start, bits]: AddressRange): boolean {
  if (address instanceof ipaddr.IPv4) return start instanceof ipaddr.IPv4 && address.match(start, bits);
  return start instanceof ipaddr.IPv6 && address.match(start, bits);
}
