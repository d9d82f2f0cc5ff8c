import type { Header } from '../../follow/header.ts';
import type { Call } from '../../rpc/call.ts';
import { RpcFailure } from '../../rpc/failures.ts';
import type { BlockTransactions, BlockTransfers, Log, LogFilter, Receipt, Transfer } from './types.ts';
import {
  readAmount,
  readBlockTransactions,
  readBlockTransfers,
  readHeader,
  readLogs,
  readQuantity,
  readReceipt,
  readTransaction,
} from './values.ts';

export type BlockTag = 'latest' | 'finalized' | 'safe';

export function chainId(): Call<number> {
  return { method: 'eth_chainId', params: [], read: readQuantity };
}

export function taggedBlock(tag: BlockTag): Call<Header | null> {
  return { method: 'eth_getBlockByNumber', params: [tag, false], read: readHeader };
}

/** Null for a block that the node does not have. */
export function blockAt(number: number): Call<Header | null> {
  return {
    method: 'eth_getBlockByNumber',
    params: [quantity(number), false],
    read: (result) => rejectOther(readHeader(result), (header) => header.number !== number),
  };
}

/** The hashes of a block's transactions. Null for a block that the node does not have. */
export function transactionsAt(number: number): Call<BlockTransactions | null> {
  return {
    method: 'eth_getBlockByNumber',
    params: [quantity(number), false],
    read: (result) => rejectOther(readBlockTransactions(result), (found) => found.number !== number),
  };
}

/** The transfers of the coin in a block, by its number or its hash. Null for a block that the node does not have. */
export function transfersIn(block: number | string): Call<BlockTransfers | null> {
  const isNumber = typeof block === 'number';
  return {
    method: isNumber ? 'eth_getBlockByNumber' : 'eth_getBlockByHash',
    params: [isNumber ? quantity(block) : block, true],
    read: (result) =>
      rejectOther(readBlockTransfers(result), ({ header }) => (isNumber ? header.number : header.hash) !== block),
  };
}

/** Null if the transaction moves no coin to an address; undefined if the node does not have the transaction. */
export function transferOf(transactionHash: string): Call<Transfer | null | undefined> {
  return {
    method: 'eth_getTransactionByHash',
    params: [transactionHash],
    read: (result) => rejectOther(readTransaction(result), (found) => found.transactionHash !== transactionHash),
  };
}

/** The coin that an address has at a block, in its smallest unit. */
export function balanceAt(address: string, block: number): Call<bigint> {
  return { method: 'eth_getBalance', params: [address, quantity(block)], read: readAmount };
}

/** Leaves out the logs that `isTaken` rejects, without reading them. */
export function logsOf(
  { fromBlock, toBlock, blockHash, addresses, topics }: LogFilter,
  isTaken?: (raw: unknown) => boolean,
): Call<Log[]> {
  const blocks =
    blockHash === undefined ? { fromBlock: quantity(fromBlock), toBlock: quantity(toBlock) } : { blockHash };
  const filter = { ...blocks, address: addresses, topics };
  const isOther = (log: Log) => log.blockNumber < fromBlock || log.blockNumber > toBlock || isOtherHash(log);
  const isOtherHash = (log: Log) => blockHash !== undefined && log.blockHash !== blockHash;
  return {
    method: 'eth_getLogs',
    params: [filter],
    read: (result) => rejectOther(readLogs(result, isTaken), (logs) => logs.some(isOther)),
  };
}

/** Null if the node has no block with the transaction. */
export function receiptOf(transactionHash: string): Call<Receipt | null> {
  return {
    method: 'eth_getTransactionReceipt',
    params: [transactionHash],
    read: (result) => rejectOther(readReceipt(result), (receipt) => receipt.transactionHash !== transactionHash),
  };
}

/** Throws if the value answers another question: such a node is broken. */
function rejectOther<Value>(value: Value, isOther: (value: NonNullable<Value>) => boolean): Value {
  if (value != null && isOther(value)) throw new RpcFailure('garbage');
  return value;
}

function quantity(number: number): string {
  return `0x${number.toString(16)}`;
}
