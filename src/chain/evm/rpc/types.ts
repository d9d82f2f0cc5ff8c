import type { Header } from '../../follow/header.ts';

/** A checked log of a node. Addresses, hashes and data are in lower case. */
export type Log = {
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly transactionHash: string;
  readonly logIndex: number;
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  /** Timestamp of the block; many nodes do not send it. */
  readonly blockS?: number;
};

/** A block with the hashes of its transactions. */
export type BlockTransactions = {
  readonly number: number;
  readonly hash: string;
  readonly transactions: readonly string[];
};

/** A payment of the coin that a transaction makes directly. */
export type Transfer = {
  readonly transactionHash: string;
  readonly from: string;
  readonly to: string;
  /** The amount in the coin's smallest unit, as `0x` and 64 hex digits. */
  readonly value: string;
};

/** A block with its transfers of the coin, whether or not they succeeded. */
export type BlockTransfers = { readonly header: Header; readonly transfers: readonly Transfer[] };

/** The block of a transaction, whether it succeeded, and its logs. */
export type Receipt = {
  readonly transactionHash: string;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly isSuccess: boolean;
  /** Whether the receipt states success. False for a receipt from before 2017, which has no status. */
  readonly statesSuccess: boolean;
  readonly logs: readonly Log[];
};

/**
 * The logs to ask a node for: from any of the addresses, with one of the listed values in each topic. Null allows every
 * value of a topic.
 */
export type LogFilter = {
  readonly fromBlock: number;
  readonly toBlock: number;
  /** Asks for the logs of exactly this block, which is `fromBlock` and `toBlock`. A node without it returns an error. */
  readonly blockHash?: string;
  readonly addresses: readonly string[];
  readonly topics: readonly (readonly string[] | null)[];
};
