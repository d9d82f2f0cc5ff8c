import { VerificationError, type VerificationFault } from '../../../verify/verification-error.ts';
import { verify } from '../../../verify/verify.ts';

export type Post = { readonly body: string; readonly headers: Readonly<Record<string, string>> };

/** What the service knows about the post and a receiver does not. */
export type Evidence = {
  /** The bytes of the delivery that `webhook-id` names, or null where there is none or it may not be seen. */
  readonly sentBody: string | null;
  /** The secrets in force, or none where they may not be seen. */
  readonly secrets: readonly { readonly secretId: string; readonly secret: string }[];
};

export type Verdict =
  | { readonly kind: 'holds' }
  | { readonly kind: 'too_old' | 'too_new'; readonly ageS: number }
  | { readonly kind: 'wrong_secret'; readonly rightSecretId: string | null }
  | { readonly kind: 'altered_body'; readonly sentBody: string }
  | { readonly kind: 'no_match' }
  | { readonly kind: 'unusable'; readonly reason: VerificationFault; readonly text: string };

/** Any time will do, so that the signature is judged by itself. */
const ANY_AGE_S = Number.MAX_SAFE_INTEGER;

/** What a receiver with this secret would say of the post, and why. */
export async function diagnose(post: Post, secret: string, evidence: Evidence, nowS: number): Promise<Verdict> {
  const fault = await faultOf(post, secret, ANY_AGE_S, nowS);
  if (fault === null) return judgeAge(post, secret, nowS);
  if (fault.reason !== 'no_match') return { kind: 'unusable', reason: fault.reason, text: fault.message };
  const { sentBody, secrets } = evidence;
  const sent = sentBody === null ? null : { ...post, body: sentBody };
  if (sent !== null && (await faultOf(sent, secret, ANY_AGE_S, nowS)) === null) {
    return { kind: 'altered_body', sentBody: sent.body };
  }
  for (const known of secrets) {
    for (const candidate of sent === null ? [post] : [post, sent]) {
      if ((await faultOf(candidate, known.secret, ANY_AGE_S, nowS)) === null) {
        return { kind: 'wrong_secret', rightSecretId: known.secretId };
      }
    }
  }
  // The very bytes that were sent do not match: only the secret is left to be wrong.
  return sentBody === post.body ? { kind: 'wrong_secret', rightSecretId: null } : { kind: 'no_match' };
}

async function judgeAge(post: Post, secret: string, nowS: number): Promise<Verdict> {
  const fault = await faultOf(post, secret, undefined, nowS);
  if (fault === null) return { kind: 'holds' };
  const ageS = Math.floor(nowS) - Number(headerOf(post, 'webhook-timestamp'));
  return { kind: fault.reason === 'too_new' ? 'too_new' : 'too_old', ageS };
}

/** A body that is no event was still signed, and that is all that is asked here. */
async function faultOf(
  { body, headers }: Post,
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

export function headerOf({ headers }: Post, name: string): string | null {
  return Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1] ?? null;
}

/** Lines of `name: value` as servers, proxies and `curl -v` print them; what is no such line is left out. */
export function parseHeaders(text: string): Record<string, string> {
  const lines = text
    .split(/\r?\n/)
    .map((line) => /^[<>\s"']*([A-Za-z0-9-]+)["']?\s*[:=]\s*["']?(.*?)[\s"',]*$/.exec(line));
  return Object.fromEntries(lines.flatMap((line) => (line === null ? [] : [[line[1] ?? '', line[2] ?? '']])));
}

/** Where two texts part. */
export function firstDifference(one: string, other: string): number {
  const shorter = Math.min(one.length, other.length);
  for (let index = 0; index < shorter; index++) if (one[index] !== other[index]) return index;
  return shorter;
}
