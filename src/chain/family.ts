import type { Decoder } from './evm/follow/evm-poll.ts';
import type { ChainReader } from './follow/reader.ts';
import type { Dialect } from './rpc/dialect.ts';
import type { Exchange } from './rpc/http-exchange.ts';
import type { Identity } from './rpc/node.ts';

/** The code that differs between the families of networks. */
export type Family = {
  readonly identity: (networkId: number) => Identity;
  readonly dialect: Dialect;
  /** A node in this process that makes its network up. */
  readonly practiceExchange: (networkId: number) => Exchange;
  /** The least time from one poll to the next, if the operator sets none; null for the usual one. */
  readonly pollMs: number | null;
  /** A reader for one follower. */
  readonly newReader: (parts: ReaderParts) => ChainReader;
};

export type ReaderParts = {
  /** Makes payments of logs, which only EVM networks and Tron have. */
  readonly decoder: Decoder;
  /** Whether the network is made up, and pays only addresses that it is asked for. */
  readonly isPractice?: boolean;
};
