import { PRACTICE_NODE } from '../../domain/chain/practice.ts';
import type { Dialect } from './dialect.ts';
import { type Exchange, httpExchange } from './http-exchange.ts';

/** The part of a family that creates its exchanges. */
type Practised = {
  readonly dialect?: Dialect;
  readonly practiceExchange: (networkId: number) => Exchange;
};

/** The exchange for a node of `CHAIN_RPC`: a practice node, or one over HTTP. */
export function exchangeOf(url: string, networkId: number, { practiceExchange, dialect }: Practised): Exchange {
  return url === PRACTICE_NODE ? practiceExchange(networkId) : httpExchange({ url, parse: dialect?.parse });
}
