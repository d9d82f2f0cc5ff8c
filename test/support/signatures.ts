import type { ReceivedHeaders } from '../../src/verify/headers.ts';
import { VerificationError } from '../../src/verify/verification-error.ts';
import { type RawBody, type VerifyOptions, verify } from '../../src/verify/verify.ts';

/** What the verifier that receivers use says of the signature: `verified`, or the reason why not. */
export async function checkSignature(
  body: RawBody,
  headers: ReceivedHeaders,
  keys: string | readonly string[],
  options: VerifyOptions = {},
): Promise<string> {
  try {
    await verify(body, headers, keys, options);
    return 'verified';
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error;
    // The signature is checked first, so a body that is merely no event has passed that check.
    return error.reason === 'not_an_event' ? 'verified' : error.reason;
  }
}

export function signatureHeaders(id: string, timestampS: number, signature: string): Record<string, string> {
  return { 'webhook-id': id, 'webhook-timestamp': String(timestampS), 'webhook-signature': signature };
}
