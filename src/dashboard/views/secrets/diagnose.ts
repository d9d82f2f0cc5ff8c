import { VerificationError, type VerificationFault } from '../../../verify/verification-error.ts';
import { verify } from '../../../verify/verify.ts';

export type SignedRequest = { readonly body: string; readonly headers: Readonly<Record<string, string>> };

/** Facts about the request that Paybell knows and a receiver does not. */
export type Evidence = {
  /** The body of the delivery with this `webhook-id`; null if there is none or the API key may not read it. */
  readonly sentBody: string | null;
  /** The active secrets; empty if the API key may not read them. */
  readonly secrets: readonly { readonly secretId: string; readonly secret: string }[];
};

export type Verdict =
  | { readonly kind: 'valid' }
  | { readonly kind: 'too_old' | 'too_new'; readonly ageS: number }
  | { readonly kind: 'wrong_secret'; readonly rightSecretId: string | null }
  | { readonly kind: 'altered_body'; readonly sentBody: string }
  | { readonly kind: 'no_match' }
  | { readonly kind: 'unverifiable'; readonly reason: VerificationFault; readonly text: string };

/** Accepts every timestamp, so that the signature is judged on its own. */
const ANY_AGE_S = Number.MAX_SAFE_INTEGER;

/** Whether a receiver with this secret would accept the request, and why not. */
export async function diagnose(
  request: SignedRequest,
  secret: string,
  evidence: Evidence,
  nowS: number,
): Promise<Verdict> {
  const error = await verificationError(request, secret, ANY_AGE_S, nowS);
  if (error === null) return judgeAge(request, secret, nowS);
  if (error.reason !== 'no_match') return { kind: 'unverifiable', reason: error.reason, text: error.message };
  const { sentBody, secrets } = evidence;
  const sent = sentBody === null ? null : { ...request, body: sentBody };
  if (sent !== null && (await verificationError(sent, secret, ANY_AGE_S, nowS)) === null) {
    return { kind: 'altered_body', sentBody: sent.body };
  }
  for (const active of secrets) {
    for (const candidate of sent === null ? [request] : [request, sent]) {
      if ((await verificationError(candidate, active.secret, ANY_AGE_S, nowS)) === null) {
        return { kind: 'wrong_secret', rightSecretId: active.secretId };
      }
    }
  }
  // The body is exactly what was sent, so only the secret can be wrong.
  return sentBody === request.body ? { kind: 'wrong_secret', rightSecretId: null } : { kind: 'no_match' };
}

async function judgeAge(request: SignedRequest, secret: string, nowS: number): Promise<Verdict> {
  const error = await verificationError(request, secret, undefined, nowS);
  if (error === null) return { kind: 'valid' };
  const ageS = Math.floor(nowS) - Number(headerOf(request, 'webhook-timestamp'));
  return { kind: error.reason === 'too_new' ? 'too_new' : 'too_old', ageS };
}

/** A signed body that is not an event counts as valid: only the signature is checked here. */
async function verificationError(
  { body, headers }: SignedRequest,
  secret: string,
  toleranceS: number | undefined,
  nowS: number,
): Promise<VerificationError | null> {
  try {
    await verify(body, headers, secret, toleranceS === undefined ? { nowS } : { nowS, toleranceS });
    return null;
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error;
    return error.reason === 'not_an_event' ? null : error;
  }
}

export function headerOf({ headers }: SignedRequest, name: string): string | null {
  return Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1] ?? null;
}

/** Reads `name: value` lines as servers, proxies and `curl -v` print them, and ignores all other lines. */
export function parseHeaders(text: string): Record<string, string> {
  const lines = text
    .split(/\r?\n/)
    .map((line) => /^[<>\s"']*([A-Za-z0-9-]+)["']?\s*[:=]\s*["']?(.*?)[\s"',]*$/.exec(line));
  return Object.fromEntries(lines.flatMap((line) => (line === null ? [] : [[line[1] ?? '', line[2] ?? '']])));
}

/** The index at which two texts begin to differ. */
export function firstDifference(one: string, other: string): number {
  const shorter = Math.min(one.length, other.length);
  for (let index = 0; index < shorter; index++) if (one[index] !== other[index]) return index;
  return shorter;
}
