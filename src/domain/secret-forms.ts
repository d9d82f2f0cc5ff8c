import { parseSecret } from './signing.ts';

/** The forms in which a secret of another service can be imported. `signing.ts` has the form in which it is stored. */

export const SECRET_FORMATS = ['whsec', 'hex', 'text'] as const;
export type SecretFormat = (typeof SECRET_FORMATS)[number];

const TEXT_MIN_BYTES = 16;
const TEXT_MAX_BYTES = 256;

/** A text that begins with `whsec_` is one unless the format says otherwise; any other is the text of the key. */
export function formatOf(secret: string): SecretFormat {
  return secret.startsWith('whsec_') ? 'whsec' : 'text';
}

/** What is wrong with an imported secret, or null. Does not repeat the secret. */
export function secretRuleBroken(secret: string, format: SecretFormat): string | null {
  switch (format) {
    case 'whsec':
      return isWhsec(secret) ? null : 'must be whsec_ and the base64 of 24 to 64 bytes';
    case 'hex':
      return /^([0-9a-fA-F]{2}){24,64}$/.test(secret) ? null : 'must be the hex digits of 24 to 64 bytes';
    case 'text': {
      const length = Buffer.byteLength(secret);
      const isPlain = secret.isWellFormed() && secret.trim() === secret && !/\p{Cc}/u.test(secret);
      if (isPlain && length >= TEXT_MIN_BYTES && length <= TEXT_MAX_BYTES) return null;
      return `must have ${TEXT_MIN_BYTES} to ${TEXT_MAX_BYTES} bytes, without control characters or blanks around it`;
    }
  }
}

function isWhsec(secret: string): boolean {
  try {
    return parseSecret(secret).length > 0;
  } catch {
    return false;
  }
}
