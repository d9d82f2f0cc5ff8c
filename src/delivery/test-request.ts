import type { Webhook } from '../contract/webhooks.ts';
import { destinationKey } from '../domain/post-url.ts';
import type { Claimed } from '../store/deliveries/claim/claimed.ts';
import type { AttemptRecord } from '../store/deliveries/record/attempt-log.ts';
import { type AttemptTools, makeAttempt } from './attempt.ts';
import { LocalShortageError } from './local-shortage.ts';

export type TestRequest = { eventId: string; deliveryId: string; endpointNo: number; body: string };

/** Makes one attempt outside the queue, prepared, signed and sent like any other. Nothing repeats it after a shortage. */
export async function sendTestRequest(
  tools: AttemptTools,
  { entityId, revision }: { entityId: string; revision: number },
  webhook: Webhook,
  { eventId, deliveryId, endpointNo, body }: TestRequest,
): Promise<AttemptRecord> {
  const startedAtMs = tools.nowMs();
  const delivery: Claimed = {
    entityId,
    deliveryId,
    destination: destinationKey(entityId, webhook.postUrl),
    token: 0,
    eventId,
    // Recording looks up the number of the webhook.
    webhookNo: 0,
    webhookId: webhook.webhookId,
    endpointNo,
    sequence: null,
    sequenceEndpointNo: endpointNo,
    orderKey: null,
    kind: 'test',
    status: 'pending',
    attempts: 0,
    mayBeReceived: false,
    steps: 0,
    postUrl: webhook.postUrl,
    generation: 0,
    createdAtMs: startedAtMs,
    failingSinceMs: null,
    body,
    trace: null,
    revision,
    acceptedAtMs: startedAtMs,
    leaseEndsMs: Number.POSITIVE_INFINITY,
  };
  try {
    return await makeAttempt(tools, delivery);
  } catch (error) {
    if (!(error instanceof LocalShortageError)) throw error;
    const outcome = { kind: 'error', error: 'failed', durationMs: 0, detail: error.code } as const;
    return { delivery, startedAtMs, outcome, next: { status: 'failed', steps: 1, delayMs: null, suspend: null } };
  }
}
