import type { Outcome } from '../../src/domain/attempt.ts';
import { destinationKey } from '../../src/domain/post-url.ts';
import type { Database } from '../../src/store/database/database.ts';
import { newTestIds, recordTest } from '../../src/store/deliveries/test-records.ts';
import { HOOK, LATE_ON_1 } from './deliveries.ts';

/** Records a test request to a webhook of `newReceiver`, as if it had just been sent. */
export async function recordTestOf(
  db: Database,
  entityId: string,
  webhookId: string,
  outcome: Outcome,
): Promise<string> {
  const ids = await newTestIds(db);
  const webhook = { webhookId, ...LATE_ON_1, postUrl: HOOK, dateCreated: 1 };
  const delivery = {
    entityId,
    ...ids,
    destination: destinationKey(entityId, HOOK),
    token: 0,
    webhookNo: 0,
    webhookId,
    endpointNo: 0,
    sequence: null,
    sequenceEndpointNo: 0,
    orderKey: null,
    kind: 'test',
    status: 'pending',
    attempts: 0,
    mayBeReceived: false,
    steps: 0,
    postUrl: HOOK,
    generation: 0,
    createdAtMs: Date.now(),
    failingSinceMs: null,
    body: JSON.stringify({ ...LATE_ON_1, test: true }),
    trace: null,
    revision: 0,
    acceptedAtMs: Date.now(),
    leaseEndsMs: Number.POSITIVE_INFINITY,
  } as const;
  const next = { status: 'delivered', steps: 1, delayMs: null, suspend: null } as const;
  await recordTest(db, webhook, { delivery, startedAtMs: Date.now(), outcome, next });
  return ids.deliveryId;
}
