import type { z } from 'zod';
import type {
  keySetSchema,
  publicKeyListSchema,
  publicKeySchema,
  rotationSchema,
  secretImportSchema,
  secretListSchema,
  signingSecretSchema,
} from '../contract/secrets.ts';
import type { CallOptions, Transport } from './transport.ts';

export type SigningSecret = z.output<typeof signingSecretSchema>;
export type SecretList = z.output<typeof secretListSchema>;
export type PublicKey = z.output<typeof publicKeySchema>;
export type PublicKeyList = z.output<typeof publicKeyListSchema>;
export type KeySet = z.output<typeof keySetSchema>;
export type Rotation = z.input<typeof rotationSchema>;
export type SecretImport = z.input<typeof secretImportSchema>;

export class Secrets {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The active signing secrets, and the public keys, newest first. */
  list(options?: CallOptions): Promise<SecretList> {
    return this.#transport.call({ method: 'GET', path: '/webhooks/secret' }, options);
  }

  /**
   * Creates a new secret. The current ones keep signing too for `overlapHours`. Not repeated after a lost response:
   * list first, to see whether the new secret exists.
   */
  rotate(rotation: Rotation = {}, options?: CallOptions): Promise<SecretList> {
    const path = '/webhooks/secret/rotate';
    return this.#transport.call({ method: 'POST', path, json: rotation, isIdempotent: false }, options);
  }

  /**
   * Creates a new Ed25519 key pair. The current ones keep signing too for `overlapHours`. Not repeated after a lost
   * response: list first, to see whether the new key exists.
   */
  rotateSigningKey(rotation: Rotation = {}, options?: CallOptions): Promise<PublicKeyList> {
    const path = '/webhooks/signing-key/rotate';
    return this.#transport.call({ method: 'POST', path, json: rotation, isIdempotent: false }, options);
  }

  /** The public keys as receivers find them, as a JSON Web Key Set. */
  keySet(options?: CallOptions): Promise<KeySet> {
    const id = this.#transport.options.entityId ?? '';
    return this.#transport.call({ method: 'GET', path: '/keys/{entityId}/jwks.json', id, isOpen: true }, options);
  }

  /**
   * Makes a secret of another service the newest one. The current ones keep signing too for `overlapHours`. Idempotent:
   * nothing changes if it is the newest one already.
   */
  import(secret: SecretImport, options?: CallOptions): Promise<SecretList> {
    return this.#transport.call({ method: 'PUT', path: '/webhooks/secret', json: secret }, options);
  }
}
