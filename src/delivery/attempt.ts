import { type AttemptInput, decideNext } from '../domain/attempt.ts';
import type { Unanswered } from '../domain/outcome.ts';
import { bodySignature, type SigningKeys, signWith } from '../domain/signing.ts';
import { StoreUnavailableError } from '../store/database/database.ts';
import type { Sendable } from '../store/deliveries/claimed.ts';
import type { AttemptRecord } from '../store/deliveries/record-attempts.ts';
import { SecretKeyError } from '../store/tenants/secret-box.ts';
import type { Post, Sender } from './sender.ts';
import type { SigningKeyCache } from './signing-key-cache.ts';

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
export async function makeAttempt(tools: AttemptTools, claimed: Sendable): Promise<AttemptRecord> {
  const startedAtMs = tools.nowMs();
  const prepared = prepare(tools, claimed, Math.floor(startedAtMs / 1000));
  const post = prepared instanceof Promise ? await prepared : prepared;
  const outcome = 'kind' in post ? post : await tools.sender.send(post);
  const { kind, status, steps } = claimed;
  const { schedule, random } = tools;
  const made: AttemptInput = { outcome, kind, status, steps, schedule, nowMs: tools.nowMs(), random };
  return { claimed, next: decideNext(made), postUrl: claimed.postUrl, startedAtMs, outcome };
}

/** The post, or the outcome of what cannot be posted; at once where the keys to sign with are known. */
function prepare(tools: AttemptTools, claimed: Sendable, nowS: number): Post | Unanswered | Promise<Post | Unanswered> {
  const keys = tools.keys.keysFor(claimed.entityId, claimed.revision, nowS);
  return keys instanceof Promise
    ? keys.then((found) => sign(tools, claimed, found, nowS), refuse)
    : sign(tools, claimed, keys, nowS);
}

function sign(tools: AttemptTools, claimed: Sendable, keys: SigningKeys, nowS: number): Post | Unanswered {
  const { deliveryId, eventId, postUrl, body } = claimed;
  try {
    if (body === null) throw new Error('the event is gone');
    const headers = headersFor({ deliveryId, eventId, body, keys, nowS });
    if (tools.bodySignatureHeader !== undefined && keys.secrets[0] !== undefined) {
      headers[tools.bodySignatureHeader] = bodySignature(keys.secrets[0], body);
    }
    return { postUrl, headers, body };
  } catch (error) {
    return refuse(error);
  }
}

function refuse(error: unknown): Unanswered {
  // An outage of ours, or a key that was changed under us, says nothing about the delivery and must not end it.
  if (error instanceof StoreUnavailableError || error instanceof SecretKeyError) throw error;
  // Nothing else will be better next time: it ends as failed with its reason, and its neighbours go on.
  const detail = error instanceof Error ? error.name : 'unknown';
  return { kind: 'error', error: 'unprocessable', durationMs: 0, detail };
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
