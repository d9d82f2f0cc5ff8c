import { RpcFailure } from './failures.ts';
import type { BlockTransactions, Header, Log, LogFilter, Receipt } from './types.ts';
import { readBlockTransactions, readData, readHeader, readLogs, readQuantity, readReceipt } from './values.ts';

/** A call with the reader of its result. The object itself is the key to its outcome, so that the outcome has a type. */
export type Call<Result> = {
  /** Why the call is made, for the metric; `send` sets it. */
  purpose?: Purpose;
  readonly method: string;
  readonly params: readonly unknown[];
  readonly read: (result: unknown) => Result;
};

/** `other` is everything that the API and the decoder ask for. */
export type Purpose = 'head' | 'logs' | 'tail' | 'finality' | 'votes' | 'lost' | 'backfill' | 'other';

export type BlockTag = 'latest' | 'finalized' | 'safe';

export function chainId(): Call<number> {
  return { method: 'eth_chainId', params: [], read: readQuantity };
}

export function taggedBlock(tag: BlockTag): Call<Header | null> {
  return { method: 'eth_getBlockByNumber', params: [tag, false], read: readHeader };
}

/** Null for a block that the node has not got. */
export function blockAt(number: number): Call<Header | null> {
  return {
    method: 'eth_getBlockByNumber',
    params: [quantity(number), false],
    read: (result) => {
      const header = readHeader(result);
      if (header !== null && header.number !== number) throw new RpcFailure('garbage');
      return header;
    },
  };
}

/** The hashes of a block's transactions. Null for a block that the node does not have. */
export function transactionsAt(number: number): Call<BlockTransactions | null> {
  return {
    method: 'eth_getBlockByNumber',
    params: [quantity(number), false],
    read: (result) => {
      const block = readBlockTransactions(result);
      if (block !== null && block.number !== number) throw new RpcFailure('garbage');
      return block;
    },
  };
}

export function logsOf({ fromBlock, toBlock, blockHash, addresses, topics }: LogFilter): Call<Log[]> {
  const blocks =
    blockHash === undefined ? { fromBlock: quantity(fromBlock), toBlock: quantity(toBlock) } : { blockHash };
  const filter = { ...blocks, address: addresses, topics };
  const isOther = (log: Log) => log.blockNumber < fromBlock || log.blockNumber > toBlock || isOtherHash(log);
  const isOtherHash = (log: Log) => blockHash !== undefined && log.blockHash !== blockHash;
  return {
    method: 'eth_getLogs',
    params: [filter],
    read: (result) => {
      const logs = readLogs(result);
      if (logs.some(isOther)) throw new RpcFailure('garbage');
      return logs;
    },
  };
}

/** Null for a transaction that the node has in no block. */
export function receiptOf(transactionHash: string): Call<Receipt | null> {
  return {
    method: 'eth_getTransactionReceipt',
    params: [transactionHash],
    read: (result) => {
      const receipt = readReceipt(result);
      if (receipt !== null && receipt.transactionHash !== transactionHash) throw new RpcFailure('garbage');
      return receipt;
    },
  };
}

/** What a contract returns; it fails with `rpc_error` where the contract reverts. */
export function contractCall(contract: string, data: string): Call<string> {
  return { method: 'eth_call', params: [{ to: contract, data }, 'latest'], read: readData };
}

function quantity(number: number): string {
  return `0x${number.toString(16)}`;
}
