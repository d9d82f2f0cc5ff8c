import { createCipheriv, createDecipheriv } from 'node:crypto';
import { randomBytes } from '../new-id.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const VERSION = 'v1';

/** The key is missing, or is not the one that sealed the stored secrets. */
export class SecretKeyError extends Error {
  override readonly name = 'SecretKeyError';
}

/**
 * Encrypts texts with AES-256-GCM under `SECRET_KEY`. The context (the ids of the row) is authenticated too, so that a
 * sealed text opens only in the row that it was sealed for.
 */
export class SecretBox {
  constructor(private readonly key: Uint8Array) {}

  seal(text: string, context: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.key, nonce);
    cipher.setAAD(Buffer.from(context));
    const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${VERSION}:${sealed.toString('base64')}`;
  }

  open(sealed: string, context: string): string {
    const bytes = Buffer.from(sealed.slice(VERSION.length + 1), 'base64');
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.key, bytes.subarray(0, NONCE_BYTES));
      decipher.setAAD(Buffer.from(context));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      const body = bytes.subarray(NONCE_BYTES, -TAG_BYTES);
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
    } catch (error) {
      throw new SecretKeyError(
        'the stored signing secrets do not open with the current SECRET_KEY: set SECRET_KEY to the key that they were ' +
          'sealed with (or restore its file next to the SQLite store). Nothing was changed.',
        { cause: error },
      );
    }
  }
}
