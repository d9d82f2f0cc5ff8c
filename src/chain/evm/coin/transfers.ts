import { NATIVE_TOKEN } from '../../../domain/chain/coin.ts';
import type { Header } from '../../follow/header.ts';
import type { Outcomes } from '../../rpc/batch.ts';
import type { Call } from '../../rpc/call.ts';
import { receiptOf, transferOf } from '../rpc/calls.ts';
import type { Log, Receipt, Transfer } from '../rpc/types.ts';

/**
 * Turns a transfer of the coin into the log that a token would have written, so that all later code treats both alike.
 * A transaction makes at most one such log, with the identity (network, transaction, `native`, 0).
 */

/** The topic of `Transfer(address,address,uint256)`. */
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

type Place = Pick<Log, 'blockNumber' | 'blockHash'> & { readonly blockS?: number };

export function placeIn({ number, hash, timestampS }: Header): Place {
  return { blockNumber: number, blockHash: hash, blockS: timestampS };
}

export function logOfTransfer({ transactionHash, from, to, value }: Transfer, place: Place): Log {
  return {
    ...place,
    transactionHash,
    logIndex: 0,
    address: NATIVE_TOKEN,
    topics: [TRANSFER_TOPIC, wordOf(from), wordOf(to)],
    data: value,
  };
}

/** The calls that show whether a transaction succeeded, and where. */
export type TransactionCalls = {
  readonly receipt: Call<Receipt | null>;
  /** Absent for a transaction whose payment has a log. */
  readonly transfer: Call<Transfer | null | undefined> | undefined;
};

export function transactionCalls(facts: readonly Asked[]): Map<string, TransactionCalls> {
  const coins = new Set(facts.flatMap(({ isCoin, transactionHash }) => (isCoin === true ? transactionHash : [])));
  return new Map(
    facts.map(({ transactionHash: hash }) => {
      const transfer = coins.has(hash) ? transferOf(hash) : undefined;
      return [hash, { receipt: receiptOf(hash), transfer }];
    }),
  );
}

type Asked = { readonly transactionHash: string; readonly isCoin?: boolean | undefined };

export function callsOf(calls: Iterable<TransactionCalls>): Call<unknown>[] {
  return [...calls].flatMap(({ receipt, transfer }) => (transfer === undefined ? [receipt] : [receipt, transfer]));
}

/**
 * The receipt, with the transfer of the coin among its logs. Null if no block has the transaction. Undefined if a call
 * failed, or if the node has the receipt without the transaction.
 */
export function answerTo({ receipt, transfer }: TransactionCalls, outcomes: Outcomes): Receipt | null | undefined {
  if (outcomes.failure(receipt) !== null) return undefined;
  const found = outcomes.value(receipt);
  if (found === null || transfer === undefined) return found;
  const moved = outcomes.failure(transfer) === null ? outcomes.value(transfer) : undefined;
  if (moved === undefined) return undefined;
  if (moved === null || !found.statesSuccess) return found;
  const { blockNumber, blockHash, logs } = found;
  return { ...found, logs: [...logs, logOfTransfer(moved, { blockNumber, blockHash })] };
}

function wordOf(address: string): string {
  return `0x${address.slice(2).padStart(64, '0')}`;
}
