/** A log as a node gave it, checked: addresses, hashes and data are in lower case, numbers are numbers. */
export type Log = {
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly transactionHash: string;
  readonly logIndex: number;
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
};

/** The part of a block's header that the follower reads. */
export type Header = {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestampS: number;
};

/** Where a transaction stands, and whether it did what it was sent to do. */
export type Receipt = {
  readonly transactionHash: string;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly isSuccess: boolean;
};

/** Which logs a node is asked for: any of the addresses, and for each topic any of its values, or any at all where it is null. */
export type LogFilter = {
  readonly fromBlock: number;
  readonly toBlock: number;
  readonly addresses: readonly string[];
  readonly topics: readonly (readonly string[] | null)[];
};
