import type { AttemptError } from '../../../domain/attempt.ts';

/** Why an attempt got no answer, in words; the code itself is what the API says. */
const TEXTS: Readonly<Record<AttemptError, string>> = {
  timeout: 'No whole answer in time',
  dns: 'The host’s name could not be resolved',
  blocked_address: 'The host is at an address that is not public',
  invalid_url: 'The URL is no longer allowed',
  refused: 'Nobody listens on that port',
  unreachable: 'There is no way to that address',
  tls: 'No connection that can be trusted',
  reset: 'The connection broke off',
  bad_response: 'What came back was not an HTTP response',
  unprocessable: 'It could not be prepared',
  failed: 'It failed for another reason',
};

export function errorText(error: string | null): string {
  return error === null ? 'No answer' : ((TEXTS as Readonly<Record<string, string>>)[error] ?? error);
}
