import { decodeBase64, type VerifyingKey } from './keys.ts';
import { VerificationError } from './verification-error.ts';

/** Throws unless one of the signatures of a header is by one of the keys. */
export async function requireMatch(
  texts: readonly string[],
  signed: Uint8Array<ArrayBuffer>,
  keys: readonly VerifyingKey[],
): Promise<void> {
  const signatures = texts.map(parseSignature);
  const pairs = keys.flatMap((key) =>
    signatures.filter(({ scheme }) => scheme === key.scheme).map(({ bytes }) => ({ key, bytes })),
  );
  if (pairs.length === 0) {
    const used = [...new Set(signatures.map(({ scheme }) => scheme))].join(', ');
    const checked = [...new Set(keys.map(({ scheme }) => scheme))].join(', ');
    throw new VerificationError('no_common_scheme', `it is ${used}; the keys check ${checked}`);
  }
  for (const { key, bytes } of pairs) {
    if (bytes !== null && (await key.isSignature(bytes, signed))) return;
  }
  throw new VerificationError('no_match');
}

function parseSignature(text: string): { scheme: string; bytes: Uint8Array<ArrayBuffer> | null } {
  const [, scheme = 'of an unknown form', value = ''] = /^(v\d[a-z]?),(.+)$/.exec(text) ?? [];
  return { scheme, bytes: decodeBase64(value) };
}
