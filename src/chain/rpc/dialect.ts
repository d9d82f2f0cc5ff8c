import type { RpcFailure } from './failures.ts';

/** The answers of nodes that mean different things in different families of networks. */
export type Dialect = {
  /** The JSON-RPC errors that are a rate limit if every call of a request gets one. */
  readonly rateLimitCodes: readonly number[];
  /** Parses a body; `JSON.parse` unless given. */
  readonly parse?: (text: string) => unknown;
  /** The failure that a body without JSON-RPC stands for; null for a body that the family does not know. */
  readonly readBody?: (body: unknown) => RpcFailure | null;
};

/**
 * The codes of Ethereum's nodes and providers. Some of them also give -32005, which is *limit exceeded*, to one call that asks
 * for too much.
 */
export const ETHEREUM_DIALECT: Dialect = { rateLimitCodes: [429, -32005, -32029] };
