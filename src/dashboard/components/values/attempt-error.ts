import type { AttemptError } from '../../../domain/attempt.ts';

/** The API reports the code; people read the text. */
const TEXTS: Readonly<Record<AttemptError, string>> = {
  timeout: 'Timed out',
  dns: 'DNS lookup failed',
  blocked_address: 'Blocked: not a public address',
  invalid_url: 'URL is not allowed',
  refused: 'Connection refused',
  unreachable: 'Host unreachable',
  tls: 'TLS handshake failed',
  reset: 'Connection reset',
  bad_response: 'Invalid HTTP response',
  unprocessable: 'Request could not be prepared',
  failed: 'Request failed',
};

export function errorText(error: string | null): string {
  return error === null ? 'No response' : ((TEXTS as Readonly<Record<string, string>>)[error] ?? error);
}
