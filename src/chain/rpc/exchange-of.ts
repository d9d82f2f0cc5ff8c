import { PRACTICE_NODE } from '../../domain/chain/practice.ts';
import type { Dialect } from './dialect.ts';
import { type Exchange, httpExchange } from './http-exchange.ts';

/** A family of networks that can be made up. */
type Practised = {
  readonly dialect?: Dialect;
  readonly practiceExchange: (networkId: number) => Exchange;
};

/** The way to a node of `CHAIN_RPC`. */
export function exchangeOf(url: string, networkId: number, { practiceExchange, dialect }: Practised): Exchange {
  return url === PRACTICE_NODE ? practiceExchange(networkId) : httpExchange({ url, parse: dialect?.parse });
}
