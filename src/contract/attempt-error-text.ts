import type { AttemptError } from '../domain/attempt.ts';

/** The API reports the code of an attempt's error; the dashboard and the command line show its text. */
const TEXTS: Readonly<Record<string, string>> = {
  timeout: 'Timed out',
  dns: 'DNS lookup failed',
  blocked_address: 'Blocked: not a public address',
  invalid_url: 'URL is not allowed',
  refused: 'Connection refused',
  unreachable: 'Host unreachable',
  tls: 'TLS handshake failed',
  reset: 'Connection reset',
  bad_response: 'Invalid HTTP response',
  certificate_expired: 'Client certificate has expired',
  proxy_unreachable: 'Outgoing proxy unreachable',
  proxy_timeout: 'Outgoing proxy timed out',
  proxy_credentials: 'Outgoing proxy wants other credentials',
  proxy_refused: 'Outgoing proxy refused to connect',
  proxy_bad_response: 'Invalid response of the outgoing proxy',
  source_address: 'Source address not available',
  unprocessable: 'Request could not be prepared',
  failed: 'Request failed',
} satisfies Record<AttemptError, string>;

/** A code that only a newer service knows is shown as it is. */
export function attemptErrorText(error: string | null): string {
  return error === null ? 'No response' : (TEXTS[error] ?? error);
}
