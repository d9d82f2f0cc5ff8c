import { ProblemError } from '../../client/errors.ts';
import type { Paybell } from '../../client/paybell.ts';

const LOOK_EVERY_MS = 100;
const MAX_LOOKS = 50;

/**
 * A retraction goes to the webhooks that may have received the original. Waits some seconds until the original is sent,
 * because a network would also leave time for that.
 */
export async function waitUntilSent(client: Paybell, eventId: string): Promise<void> {
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    if (!(await isPending(client, eventId))) return;
    await Bun.sleep(LOOK_EVERY_MS);
  }
}

/**
 * Whether a delivery of the event is pending. False if the key may not read deliveries, so that the caller does not
 * wait.
 */
async function isPending(client: Paybell, eventId: string): Promise<boolean> {
  try {
    return (await client.deliveries.list({ eventId, status: 'pending', limit: 1 })).totalResults > 0;
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'missing_permission') return false;
    throw error;
  }
}
