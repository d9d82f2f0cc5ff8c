import { type AttemptMade, settle } from '../domain/deliveries.ts';
import type { Outcome } from '../domain/outcome.ts';
import { bodySignature, type SigningKeys, signWith } from '../domain/signature.ts';
import type { Sendable } from '../store/claimed.ts';
import { StoreUnavailableError } from '../store/database.ts';
import type { MadeAttempt } from '../store/delivery-settlements.ts';
import { SecretKeyError } from '../store/secret-box.ts';
import type { Post, Sender } from './sender.ts';
import type { SigningKeyCache } from './signing-keys.ts';

export type AttemptTools = {
  readonly sender: Sender;
  readonly keys: SigningKeyCache;
  readonly schedule: readonly number[];
  readonly bodySignatureHeader: string | undefined;
  readonly nowMs: () => number;
  readonly random: () => number;
};

/**
 * Prepare, send, settle: first try, retry and redelivery take the same road. Rejects only when the fault is ours, the
 * store or its key, and then nothing was sent.
 */
export async function makeAttempt(tools: AttemptTools, claimed: Sendable): Promise<MadeAttempt> {
  const startedAtMs = tools.nowMs();
  const outcome = await prepareAndSend(tools, claimed, startedAtMs);
  const { kind, status, steps } = claimed;
  const { schedule, random } = tools;
  const made: AttemptMade = { outcome, kind, status, steps, schedule, nowMs: tools.nowMs(), random };
  return { claimed, settlement: settle(made), postUrl: claimed.postUrl, startedAtMs, outcome };
}

async function prepareAndSend(tools: AttemptTools, claimed: Sendable, nowMs: number): Promise<Outcome> {
  let post: Post;
  try {
    post = await prepare(tools, claimed, Math.floor(nowMs / 1000));
  } catch (error) {
    // An outage of ours, or a key that was changed under us, says nothing about the delivery and must not end it.
    if (error instanceof StoreUnavailableError || error instanceof SecretKeyError) throw error;
    // Nothing else will be better next time: it ends as failed with its reason, and its neighbours go on.
    const detail = error instanceof Error ? error.name : 'unknown';
    return { kind: 'error', error: 'unprocessable', durationMs: 0, detail };
  }
  return tools.sender.send(post);
}

async function prepare(tools: AttemptTools, claimed: Sendable, nowS: number): Promise<Post> {
  const { deliveryId, eventId, entityId, revision, postUrl, body } = claimed;
  if (body === null) throw new Error('the event is gone');
  const keys = await tools.keys.keysFor(entityId, revision, nowS);
  const headers = headersFor({ deliveryId, eventId, body, keys, nowS });
  if (tools.bodySignatureHeader !== undefined && keys.secrets[0] !== undefined) {
    headers[tools.bodySignatureHeader] = bodySignature(keys.secrets[0], body);
  }
  return { postUrl, headers, body };
}

type Signed = { deliveryId: string; eventId: string; body: string; keys: SigningKeys; nowS: number };

export function headersFor({ deliveryId, eventId, body, keys, nowS }: Signed): Record<string, string> {
  return {
    'content-type': 'application/json',
    'webhook-id': deliveryId,
    'webhook-timestamp': String(nowS),
    'webhook-signature': signWith(keys, { id: deliveryId, timestampS: nowS, body }),
    'paybell-event-id': eventId,
  };
}
