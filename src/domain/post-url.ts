import ipaddr from 'ipaddr.js';
import { isPublicAddress } from './ip-address.ts';

export interface PostUrlRules {
  /** For development only: accepts `http`, private addresses and local names. */
  allowInsecureTargets: boolean;
}

const POST_URL_MAX_LENGTH = 2048;

const PRINTABLE_ASCII = /^[\x21-\x7e]+$/;
const SCHEME_AND_AUTHORITY = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]+)/i;
const DNS_LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;
const DNS_NAME_MAX_LENGTH = 253;

/**
 * Zones that never exist in public DNS: special-use names (RFC 6761, 6762, 7686, 8375, 9476), `internal`, which ICANN
 * reserved, and those that routers and offices use. `test`, `example` and `invalid` are not listed: they never resolve
 * to a host nearby, and people use them in tests and documentation.
 */
const LOCAL_ZONES = [
  'localhost',
  'local',
  'localdomain',
  'internal',
  'intranet',
  'private',
  'lan',
  'home',
  'corp',
  'home.arpa',
  'onion',
  'alt',
];

/** Advice for a developer whose receiver runs on the same machine as the service. */
const IN_DEVELOPMENT = 'for development, start the service with ALLOW_INSECURE_TARGETS=true';

/** Describes the mistake in a postUrl and its fix; null if the URL is valid. */
export function postUrlError(raw: string, rules: PostUrlRules): string | null {
  // The text is checked before it is parsed: the parser silently drops CR, LF and TAB and replaces backslashes.
  return textError(raw) ?? urlError(raw, rules);
}

/** The port to connect to, which the scheme implies when the URL has none. */
export function portOf(url: URL): string {
  return url.port || (url.protocol === 'https:' ? '443' : '80');
}

/** The IP address in a parsed hostname (`127.0.0.1`, or `::1` for `[::1]`), or null when it is a name. */
export function addressLiteralOf(hostname: string): string | null {
  if (hostname.startsWith('[')) return hostname.slice(1, -1);
  return ipaddr.IPv4.isValidFourPartDecimal(hostname) ? hostname : null;
}

function textError(raw: string): string | null {
  if (raw === '') return 'is empty; give an absolute URL such as https://example.com/hook';
  if (raw.length > POST_URL_MAX_LENGTH) {
    return `has ${raw.length} characters; give a URL of at most ${POST_URL_MAX_LENGTH}`;
  }
  if (!PRINTABLE_ASCII.test(raw)) {
    return 'has a space, a control character or a non-ASCII character; percent-encode it, or use the xn-- form in a host name';
  }
  if (raw.includes('\\')) return 'has a backslash; use / to separate path segments, or %5C for a literal backslash';
  if (raw.includes('#')) return 'has a fragment, which is never sent; remove the # and everything after it';
  return null;
}

function urlError(raw: string, rules: PostUrlRules): string | null {
  const written = SCHEME_AND_AUTHORITY.exec(raw);
  const url = URL.parse(raw);
  if (written === null || url === null) {
    return 'is not an absolute URL; give one such as https://example.com/hook';
  }
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && rules.allowInsecureTargets)) {
    return schemeError(url.protocol, rules);
  }
  // Checked in the text, because an empty user name leaves no trace in the parsed URL.
  if (written[2]?.includes('@')) return 'has user information; remove everything up to the @';
  if (url.port === '0') return 'has port 0, which cannot be connected to; give a port from 1 to 65535 or none';
  return hostError(url.hostname, rules);
}

function schemeError(protocol: string, rules: PostUrlRules): string {
  const schemes = rules.allowInsecureTargets ? 'https:// or http://' : 'https://';
  const wayOut = protocol === 'http:' ? `, or, ${IN_DEVELOPMENT}` : '';
  return `has a scheme that is not accepted; give a URL that begins with ${schemes}${wayOut}`;
}

/** The URL parser has already normalised every spelling of an address: decimal, octal, hex, short or encoded. */
function hostError(hostname: string, rules: PostUrlRules): string | null {
  const address = addressLiteralOf(hostname);
  if (address !== null) {
    if (rules.allowInsecureTargets || isPublicAddress(address)) return null;
    return `points to an address that is not public; give a host that can be reached over the internet, or, ${IN_DEVELOPMENT}`;
  }
  const name = withoutTrailingDot(hostname);
  const labels = name.split('.');
  if (name.length > DNS_NAME_MAX_LENGTH || !labels.every((label) => DNS_LABEL.test(label))) {
    return 'has a host that is not a DNS name; use letters, digits and hyphens, as in hooks.example.com';
  }
  if (!rules.allowInsecureTargets && (labels.length === 1 || isInLocalZone(name))) {
    return `points to a name that exists only on a local network; give a host that can be reached over the internet, or, ${IN_DEVELOPMENT}`;
  }
  return null;
}

function isInLocalZone(name: string): boolean {
  return LOCAL_ZONES.some((zone) => name === zone || name.endsWith(`.${zone}`));
}

function withoutTrailingDot(hostname: string): string {
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
}

declare const brand: unique symbol;

/**
 * `<entityId> <scheme>://<host>:<port>`: the unit of caps, round-robin and back-off. It begins with the entity, so that
 * two tenants that send to one receiver never share a limit.
 */
export type DestinationKey = string & { readonly [brand]: 'DestinationKey' };

/** The rate limit of an endpoint, in requests per second. */
export type Pace = { readonly endpointNo: number; readonly perSecond: number };

/**
 * An endpoint with a rate limit is a separate destination, `… <perSecond>/s <endpointNo>`. Its waiting deliveries take
 * no slot from the other endpoints on the host, and every process that has the key knows the rate.
 */
export function destinationKey(entityId: string, postUrl: string, pace: Pace | null = null): DestinationKey {
  const paced = pace === null ? '' : ` ${pace.perSecond}/s ${pace.endpointNo}`;
  return `${entityKeyPrefix(entityId)}${destinationOf(postUrl)}${paced}` as DestinationKey;
}

/** The most requests per second to the destination, or null if only its slots limit them. */
export function rateOf(key: DestinationKey): number | null {
  const rate = RATE.exec(key)?.[1];
  return rate === undefined ? null : Number(rate);
}

const RATE = / ([0-9]+)\/s [0-9]+$/;

/** The destination of the endpoint without its rate limit, which other endpoints on the host share. */
export function withoutRate(key: DestinationKey): DestinationKey {
  return key.replace(RATE, '') as DestinationKey;
}

/** `scheme://host:port` of the key, without its entity and its rate. */
export function receiverOf(key: string): string {
  return key.split(' ', 2)[1] ?? '';
}

export function hostOf(postUrl: string): string {
  return withoutTrailingDot(URL.parse(postUrl)?.hostname ?? '');
}

/** The prefix of an entity's keys, which sorts directly before the first key. */
export function entityKeyPrefix(entityId: string): string {
  return `${entityId} `;
}

/** Also accepts the prefix of an entity's keys. */
export function entityOfDestination(key: string): string {
  return key.slice(0, key.indexOf(' '));
}

/** `scheme://host:port` of a valid postUrl, the same for all spellings of one receiver. */
export function destinationOf(postUrl: string): string {
  const url = URL.parse(postUrl);
  // No such URL should be stored. If one is, it must not stop other deliveries.
  if (url === null) return 'invalid:';
  return `${url.protocol}//${withoutTrailingDot(url.hostname)}:${portOf(url)}`;
}
