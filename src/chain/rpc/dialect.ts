import type { RpcFailure } from './failures.ts';

/** The meaning of answers that differ between families of networks. */
export type Dialect = {
  /** The codes of JSON-RPC errors that mean a rate limit if every call of a request has one. */
  readonly rateLimitCodes: readonly number[];
  /** Parses a body; `JSON.parse` unless given. */
  readonly parse?: (text: string) => unknown;
  /** The failure that a body without JSON-RPC means; null for an unknown body. */
  readonly readBody?: (body: unknown) => RpcFailure | null;
};

/**
 * The codes of Ethereum's nodes and providers. Some also answer a single call that asks for too much with -32005,
 * *limit exceeded*.
 */
export const ETHEREUM_DIALECT: Dialect = { rateLimitCodes: [429, -32005, -32029] };
