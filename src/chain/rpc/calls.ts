import { RpcFailure } from './failures.ts';
import type { Header, Log, LogFilter, Receipt } from './types.ts';
import { readData, readHeader, readLogs, readQuantity, readReceipt } from './values.ts';

/** A call with the reader of its result. The object itself is the key to its outcome, so that the outcome has a type. */
export type Call<Result> = {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly read: (result: unknown) => Result;
};

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

export function logsOf({ fromBlock, toBlock, addresses, topics }: LogFilter): Call<Log[]> {
  const filter = {
    fromBlock: quantity(fromBlock),
    toBlock: quantity(toBlock),
    address: addresses,
    topics,
  };
  return {
    method: 'eth_getLogs',
    params: [filter],
    read: (result) => {
      const logs = readLogs(result);
      if (logs.some(({ blockNumber }) => blockNumber < fromBlock || blockNumber > toBlock)) {
        throw new RpcFailure('garbage');
      }
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
