import { VerificationError, type VerificationFault } from '../../verify/verification-error.ts';
import { verify } from '../../verify/verify.ts';

/** The result of checking a signature: `unchecked` when there is no key to check it with. */
export type Signature = {
  readonly state: 'verified' | 'unchecked' | VerificationFault;
  readonly text: string;
  /** The status that a receiver should respond with. */
  readonly status: number;
};

export type SignatureCheck = (body: Uint8Array, headers: Headers) => Promise<Signature>;

/** Reads the active secrets and public keys. */
export type KeySource = () => Promise<readonly string[]>;

/** The least time between two reads of the keys, so that forged requests do not each cause a request to the server. */
const RELOAD_INTERVAL_MS = 10_000;

const VERIFIED: Signature = { state: 'verified', text: 'signature verified', status: 204 };
const UNCHECKED: Signature = {
  state: 'unchecked',
  text: 'signature not checked: give --secret, or an API key',
  status: 204,
};

/** Reads the keys again if there are none, or if a signature does not match, because the keys may have been rotated. */
export function createSignatureCheck(
  source: KeySource | null,
  initialKeys: readonly string[],
  nowMs: () => number = Date.now,
): SignatureCheck {
  let keys = initialKeys;
  let loadedAtMs = nowMs();
  return async (body, headers) => {
    const signature = await check(keys, body, headers);
    const mayBeOutdated = signature.state === 'no_match' || signature.state === 'unchecked';
    if (!mayBeOutdated || source === null || nowMs() - loadedAtMs < RELOAD_INTERVAL_MS) return signature;
    loadedAtMs = nowMs();
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
    return { state: error.reason, text: error.message, status: error.status };
  }
}
