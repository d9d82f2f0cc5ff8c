import ipaddr from 'ipaddr.js';
import { isPublicAddress } from './ip-address.ts';

export interface PostUrlRules {
  /** Development only: lets `http`, private addresses and local names pass. */
  allowInsecureTargets: boolean;
}

export const POST_URL_MAX_LENGTH = 2048;

const PRINTABLE_ASCII = /^[\x21-\x7e]+$/;
const SCHEME_AND_AUTHORITY = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]+)/i;
const DNS_LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;
const DNS_NAME_MAX_LENGTH = 253;

/**
 * Zones that public DNS will never hold: special-use names (RFC 6761, 6762, 7686, 8375, 9476), `internal` as ICANN
 * reserved it, and those that routers and offices use at home. `test`, `example` and `invalid` are left out: they point
 * at nothing rather than at something near us, and people write them in trials and documents.
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

/** What is wrong with a postUrl and how to mend it, or null when it is fine. */
export function postUrlError(raw: string, rules: PostUrlRules): string | null {
  // The raw text comes first: a URL parser drops CR, LF and TAB and turns backslashes into slashes without a word.
  return textFault(raw) ?? parsedFault(raw, rules);
}

/** The port that will be dialled, also where the URL leaves it to the scheme. */
export function portOf(url: URL): string {
  return url.port || (url.protocol === 'https:' ? '443' : '80');
}

/** The address in a hostname as the URL parser writes it (`127.0.0.1`, `[::1]` without its brackets), or null for a name. */
export function addressLiteralOf(hostname: string): string | null {
  if (hostname.startsWith('[')) return hostname.slice(1, -1);
  return ipaddr.IPv4.isValidFourPartDecimal(hostname) ? hostname : null;
}

function textFault(raw: string): string | null {
  if (raw === '') return 'is empty; give an absolute URL such as https://example.com/hook';
  if (raw.length > POST_URL_MAX_LENGTH) {
    return `has ${raw.length} characters; give a URL of at most ${POST_URL_MAX_LENGTH}`;
  }
  if (!PRINTABLE_ASCII.test(raw)) {
    return 'has a space, a control or a non-ASCII character; percent-encode it, and write an international host in its xn-- form';
  }
  if (raw.includes('\\')) return 'has a backslash; write / between the parts of the path, or %5C for a literal one';
  if (raw.includes('#')) return 'has a fragment, which is never sent; leave out the # and all after it';
  return null;
}

function parsedFault(raw: string, rules: PostUrlRules): string | null {
  const written = SCHEME_AND_AUTHORITY.exec(raw);
  const url = URL.parse(raw);
  if (written === null || url === null) {
    return 'is not an absolute URL; write it in full, such as https://example.com/hook';
  }
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && rules.allowInsecureTargets)) {
    return schemeFault(rules);
  }
  // Looked for in the text, since an empty user name leaves no trace in the parsed URL.
  if (written[2]?.includes('@')) return 'has user information; leave out everything before the host, up to the @';
  if (url.port === '0') return 'has port 0, which cannot be dialled; give a port from 1 to 65535 or leave it out';
  return hostFault(url.hostname, rules);
}

function schemeFault(rules: PostUrlRules): string {
  const schemes = rules.allowInsecureTargets ? 'https:// or http://' : 'https://';
  return `has a scheme that is not accepted; give a URL that begins with ${schemes}`;
}

/** The parser has turned every spelling of an address (decimal, octal, hex, short, encoded) into one by now. */
function hostFault(hostname: string, rules: PostUrlRules): string | null {
  const address = addressLiteralOf(hostname);
  if (address !== null) {
    if (rules.allowInsecureTargets || isPublicAddress(address)) return null;
    return 'points to an address that is not public; give a host that can be reached over the internet';
  }
  const name = withoutTrailingDot(hostname);
  const labels = name.split('.');
  if (name.length > DNS_NAME_MAX_LENGTH || !labels.every((label) => DNS_LABEL.test(label))) {
    return 'has a host that is not a DNS name; give one of letters, digits and hyphens, such as hooks.example.com';
  }
  if (!rules.allowInsecureTargets && (labels.length === 1 || isInLocalZone(name))) {
    return 'points to a name that exists only on a local network; give a host that can be reached over the internet';
  }
  return null;
}

function isInLocalZone(name: string): boolean {
  return LOCAL_ZONES.some((zone) => name === zone || name.endsWith(`.${zone}`));
}

export function withoutTrailingDot(hostname: string): string {
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
}
