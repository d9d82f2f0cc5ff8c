import type { z } from 'zod';
import type { chainListSchema, chainNodeSchema, chainSchema } from '../../contract/chain/chains.ts';
import type { CallOptions, Transport } from '../transport.ts';

export type Chain = z.output<typeof chainSchema>;
export type ChainNode = z.output<typeof chainNodeSchema>;
export type ChainList = z.output<typeof chainListSchema>;

/** The networks that the service follows. */
export class Chains {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** How far each network is read, and how its nodes are. */
  list(options?: CallOptions): Promise<ChainList> {
    return this.#transport.call({ method: 'GET', path: '/chains' }, options);
  }
}
