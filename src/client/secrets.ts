import { OPERATIONS } from './operations.ts';
import type { CallOptions, Transport } from './transport.ts';
import type { Rotation, SecretList } from './types.ts';

export class Secrets {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The signing secrets in force, newest first, and the public key. */
  list(options?: CallOptions): Promise<SecretList> {
    return this.#transport.call(OPERATIONS.listSecrets, {}, options);
  }

  /** A new secret, the older ones signing beside it for `overlapHours`. Not tried again after a lost answer: read first. */
  rotate(rotation: Rotation = {}, options?: CallOptions): Promise<SecretList> {
    return this.#transport.call(OPERATIONS.rotateSecret, { json: rotation }, options);
  }
}
