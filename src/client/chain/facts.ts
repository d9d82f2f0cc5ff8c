import type { z } from 'zod';
import type {
  factDetailSchema,
  factEventSchema,
  factListQuerySchema,
  factListSchema,
  factSchema,
  factStepSchema,
} from '../../contract/chain/facts.ts';
import { allPages } from '../pages.ts';
import type { Query } from '../schema-types.ts';
import type { CallOptions, Transport } from '../transport.ts';

export type Fact = z.output<typeof factSchema>;
export type FactDetail = z.output<typeof factDetailSchema>;
export type FactEvent = z.output<typeof factEventSchema>;
export type FactStep = z.output<typeof factStepSchema>;
export type FactList = z.output<typeof factListSchema>;
export type FactListQuery = Query<typeof factListQuerySchema>;

/** Payments and agreements in transactions, in any state. */
export class Facts {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: FactListQuery = {}, options?: CallOptions): Promise<FactList> {
    return this.#transport.call({ method: 'GET', path: '/facts', query }, options);
  }

  /** Every matching fact, page after page. */
  listAll(query: FactListQuery = {}, options?: CallOptions): AsyncGenerator<Fact, void, undefined> {
    return allPages((page, each) => this.list(page, each), 'facts', 'factId', query, options);
  }

  /** With every state and block that it had, the events made of it, and their deliveries. */
  get(factId: string, options?: CallOptions): Promise<FactDetail> {
    return this.#transport.call({ method: 'GET', path: '/facts/{factId}', id: factId }, options);
  }
}
