import type { Webhook } from '../contract/webhooks.ts';
import { destinationKey } from '../domain/destination.ts';
import type { AttemptRecord } from '../store/deliveries/record-attempts.ts';
import { newId } from '../store/new-id.ts';
import { type AttemptTools, makeAttempt } from './attempt.ts';

/** Makes one attempt outside the queue, prepared, signed and sent like any other. */
export function sendTestRequest(
  tools: AttemptTools,
  { entityId, revision }: { entityId: string; revision: number },
  webhook: Webhook,
  eventId: string,
  body: string,
): Promise<AttemptRecord> {
  return makeAttempt(tools, {
    entityId,
    deliveryId: newId('dlv'),
    destination: destinationKey(entityId, webhook.postUrl),
    token: 0,
    eventId,
    isAlert: false,
    webhookId: webhook.webhookId,
    kind: 'test',
    status: 'pending',
    attempts: 0,
    steps: 0,
    postUrl: webhook.postUrl,
    suspended: false,
    failingSinceMs: null,
    body,
    revision,
    acceptedAtMs: tools.nowMs(),
  });
}
