import { firstCredentials } from '../../test/support/paybell.ts';
import { NETWORK } from './event-bodies.ts';
import type { Server } from './processes.ts';

/** The requests to Paybell that more than one bench makes. */

export const API = '/api/v1/crypto';
export const LIST_PATH = `${API}/webhooks/classic`;

export type Caller = { readonly entityId: string; readonly apiKey: string };

export function credentials({ apiKey, entityId }: Caller): { 'api-key': string; 'entity-id': string } {
  return { 'api-key': apiKey, 'entity-id': entityId };
}

/** The entity that Paybell makes in an empty store, and its key, which the start puts into a file. */
export function firstCaller({ greeting }: Server): Caller {
  const caller = firstCredentials(greeting);
  if (caller === null) throw new Error('Paybell printed no first entity and key file');
  return caller;
}

/** Receivers on this machine are neither https nor public. */
export function deliverySettings(databaseUrl: string): Record<string, string> {
  return { DATABASE_URL: databaseUrl, ALLOW_INSECURE_TARGETS: 'true' };
}

export async function register(paybell: Server, caller: Caller, event: string, urls: readonly string[]): Promise<void> {
  for (const postUrl of urls) {
    const response = await fetch(paybell.url + LIST_PATH, {
      method: 'POST',
      headers: { ...credentials(caller), 'content-type': 'application/json' },
      body: JSON.stringify({ postUrl, networkIds: [NETWORK], events: [event] }),
    });
    if (response.status !== 201) throw new Error(`The registration of ${postUrl} returned ${response.status}`);
  }
}
