import { isIP } from 'node:net';
import { canonicalAddress } from '../domain/ip-address.ts';

/** The settings of outgoing connections. */

export type EgressProxy = {
  readonly host: string;
  readonly port: number;
  /** The value of `proxy-authorization`; null without credentials. */
  readonly authorization: string | null;
};

const PROXY_RULE = 'must be http://host:port or http://user:password@host:port, without a path';

/** The text is not part of the errors, since it may contain a password. */
export function parseEgressProxy(text: string): EgressProxy | string {
  const url = URL.parse(text);
  if (url?.protocol === 'https:') return `${PROXY_RULE}; TLS to the proxy itself is not supported`;
  if (url?.protocol !== 'http:' || url.pathname !== '/' || url.search !== '' || url.hash !== '') return PROXY_RULE;
  const credentials = decodeCredentials(url);
  if (credentials === null) return `${PROXY_RULE}; the user name has no ":", and both are percent-encoded UTF-8`;
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || 80),
    authorization: credentials === '' ? null : `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
}

/** Empty without credentials, null if they cannot be sent. */
function decodeCredentials({ username, password }: URL): string | null {
  if (username === '' && password === '') return '';
  try {
    const user = decodeURIComponent(username);
    const credentials = `${user}:${decodeURIComponent(password)}`;
    return user.includes(':') || /\p{Cc}/u.test(credentials) ? null : credentials;
  } catch {
    return null;
  }
}

/** With its port and without its credentials. */
export function describeProxy({ host, port }: EgressProxy): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export function parseSourceAddress(text: string): string | null {
  return isIP(text) === 0 || text.includes('%') ? null : canonicalAddress(text);
}
