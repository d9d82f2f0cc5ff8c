import { VerificationError, type VerificationFault } from '../../verify/verification-error.ts';
import { verify } from '../../verify/verify.ts';

/** What is said of a post: `unchecked` when there is nothing to check it with. */
export type Signature = {
  readonly state: 'verified' | 'unchecked' | VerificationFault;
  readonly words: string;
  /** What a receiver should answer. */
  readonly status: number;
};

export type SignatureCheck = (body: Uint8Array, headers: Headers) => Promise<Signature>;

/** The secrets or the public key in force, or why they cannot be had. */
export type KeySource = () => Promise<readonly string[]>;

/** A rotation is noticed by a post that does not match; a flood of forged ones must not become a flood of questions. */
const ASK_AGAIN_AFTER_MS = 10_000;

const VERIFIED: Signature = { state: 'verified', words: 'signature verified', status: 204 };
const UNCHECKED: Signature = { state: 'unchecked', words: 'signature not checked', status: 204 };

/** Checks with the keys of the source, which is asked again, now and then, when there are none or a post does not match. */
export function createSignatureCheck(
  source: KeySource | null,
  first: readonly string[],
  nowMs: () => number = Date.now,
): SignatureCheck {
  let keys = first;
  let askedAtMs = nowMs();
  return async (body, headers) => {
    const signature = await check(keys, body, headers);
    const mayBeOld = signature.state === 'no_match' || signature.state === 'unchecked';
    if (!mayBeOld || source === null || nowMs() - askedAtMs < ASK_AGAIN_AFTER_MS) return signature;
    askedAtMs = nowMs();
    keys = await source().catch(() => keys);
    return check(keys, body, headers);
  };
}

async function check(keys: readonly string[], body: Uint8Array, headers: Headers): Promise<Signature> {
  if (keys.length === 0) return UNCHECKED;
  try {
    await verify(body, headers, keys);
    return VERIFIED;
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error;
    return { state: error.reason, words: error.message, status: error.status };
  }
}
