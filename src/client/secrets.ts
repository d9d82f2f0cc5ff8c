import type { z } from 'zod';
import type { rotationSchema, secretImportSchema, secretListSchema, signingSecretSchema } from '../contract/secrets.ts';
import type { CallOptions, Transport } from './transport.ts';

export type SigningSecret = z.output<typeof signingSecretSchema>;
export type SecretList = z.output<typeof secretListSchema>;
export type Rotation = z.input<typeof rotationSchema>;
export type SecretImport = z.input<typeof secretImportSchema>;

export class Secrets {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The active signing secrets, newest first, and the public key. */
  list(options?: CallOptions): Promise<SecretList> {
    return this.#transport.call({ method: 'GET', path: '/webhooks/secret' }, options);
  }

  /**
   * Creates a new secret; the current ones keep signing beside it for `overlapHours`. Not repeated after a lost
   * response: list first, to see whether the new secret exists.
   */
  rotate(rotation: Rotation = {}, options?: CallOptions): Promise<SecretList> {
    const path = '/webhooks/secret/rotate';
    return this.#transport.call({ method: 'POST', path, json: rotation, isIdempotent: false }, options);
  }
  /**
   * Makes a secret of another service the newest one; the current ones keep signing beside it for `overlapHours`.
   * Idempotent: nothing changes if it is the newest one already.
   */
  import(secret: SecretImport, options?: CallOptions): Promise<SecretList> {
    return this.#transport.call({ method: 'PUT', path: '/webhooks/secret', json: secret }, options);
  }
}
