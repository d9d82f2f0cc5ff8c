import { parseSecret } from './signing.ts';

/** The forms in which a secret of another service can be imported. `signing.ts` has the form in which it is stored. */

export const SECRET_FORMATS = ['whsec', 'hex', 'text'] as const;
export type SecretFormat = (typeof SECRET_FORMATS)[number];

const TEXT_MIN_BYTES = 16;
const TEXT_MAX_BYTES = 256;

/** The format of a secret if the request names none: `whsec` if the secret begins with `whsec_`, otherwise `text`. */
export function formatOf(secret: string): SecretFormat {
  return secret.startsWith('whsec_') ? 'whsec' : 'text';
}

/** Describes the mistake in an imported secret, without the secret; null if there is none. */
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
