import { attemptErrorText } from '../attempt-error-text.ts';
import type { Endpoint } from './endpoint.ts';

/** The result of a last attempt of an endpoint that fails; null if it is not known. */
export function lastFailureText({
  lastStatusCode,
  lastError,
}: Pick<Endpoint, 'lastStatusCode' | 'lastError'>): string | null {
  if (lastStatusCode !== null) return `HTTP ${lastStatusCode}`;
  return lastError === null ? null : attemptErrorText(lastError);
}
