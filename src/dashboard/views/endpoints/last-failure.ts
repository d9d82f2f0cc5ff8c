import type { Endpoint } from '../../../client/endpoints.ts';
import { attemptErrorText } from '../../../contract/attempt-error-text.ts';

/** What a last attempt of an endpoint that fails came to; null if that is not known. */
export function lastFailureText({ lastStatusCode, lastError }: Endpoint): string | null {
  if (lastStatusCode !== null) return `HTTP ${lastStatusCode}`;
  return lastError === null ? null : attemptErrorText(lastError);
}
