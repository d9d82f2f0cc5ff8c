import type { FollowedSource } from '../../../store/chain/network-store.ts';
import type { Outcomes } from '../../rpc/batch.ts';
import { blockAt, type Call, logsOf, receiptOf } from '../../rpc/calls.ts';
import { RpcFailure } from '../../rpc/failures.ts';
import type { Node } from '../../rpc/node.ts';
import type { Header, Log, Receipt } from '../../rpc/types.ts';
import { garbageFrom } from './doubt.ts';
import { logFilters } from './log-filters.ts';

export type Blocks = {
  readonly from: number;
  readonly to: number;
  readonly sources: readonly FollowedSource[];
  /** The block whose header has to come with the logs, at or above `to`. */
  readonly check: number;
  /** Transactions whose receipts are asked for with them. */
  readonly transactions?: readonly string[];
  readonly contractsPerCall?: number;
};

export type Reading = {
  /** The block at `check`; null where the node has not got it. */
  readonly header: Header | null;
  readonly logs: readonly Log[];
  /** Null for a transaction in no block; a transaction that is not there could not be asked for. */
  readonly receipts: ReadonlyMap<string, Receipt | null>;
};

/** The node refused to give the logs of so many blocks, or they are too large to be read. */
export type Refusal = 'refused' | 'too_large';

export function isRefusal(reading: Reading | Refusal): reading is Refusal {
  return typeof reading === 'string';
}

/** One batch. */
export async function readBlocks(node: Node, blocks: Blocks): Promise<Reading | Refusal> {
  const { from, to, sources, check, transactions = [] } = blocks;
  const header = blockAt(check);
  const logCalls = from > to ? [] : logFilters(sources, from, to, blocks.contractsPerCall).map(logsOf);
  const receiptCalls = transactions.map((hash) => ({ hash, call: receiptOf(hash) }));
  const outcomes = await sendUnlessTooLarge(node, [header, ...logCalls, ...receiptCalls.map(({ call }) => call)]);
  if (outcomes === null) return 'too_large';
  const refusals = logCalls.flatMap((call) => outcomes.failure(call) ?? []);
  if (refusals.some(({ kind }) => kind === 'rpc_error')) return 'refused';
  if (refusals.length > 0 || outcomes.failure(header) !== null) throw garbageFrom(node);
  const receipts = receiptCalls.filter(({ call }) => outcomes.failure(call) === null);
  return {
    header: outcomes.value(header),
    logs: checkedLogs(
      node,
      logCalls.flatMap((call) => outcomes.value(call)),
    ),
    receipts: new Map(receipts.map(({ hash, call }) => [hash, outcomes.value(call)])),
  };
}

async function sendUnlessTooLarge(node: Node, calls: readonly Call<unknown>[]): Promise<Outcomes | null> {
  try {
    return await node.send(calls);
  } catch (error) {
    if (error instanceof RpcFailure && error.kind === 'too_large') return null;
    throw error;
  }
}

/** Each log once. A node whose logs name two blocks of one number, or of one transaction, is not to be believed. */
function checkedLogs(node: Node, logs: readonly Log[]): Log[] {
  const byPlace = new Map(logs.map((log) => [`${log.blockHash} ${log.logIndex}`, log]));
  const unique = [...byPlace.values()];
  if (hashesOf(unique) === null) throw garbageFrom(node);
  return unique;
}

/**
 * The blocks that logs name, by number; null where two of one number have different hashes, or one transaction is in two blocks:
 * from a node that is between two forks, a payment would become two facts.
 */
export function hashesOf(logs: readonly Log[]): Map<number, string> | null {
  const hashes = new Map<number, string>();
  const blockOf = new Map<string, string>();
  for (const { blockNumber, blockHash, transactionHash } of logs) {
    if ((hashes.get(blockNumber) ?? blockHash) !== blockHash) return null;
    if ((blockOf.get(transactionHash) ?? blockHash) !== blockHash) return null;
    hashes.set(blockNumber, blockHash);
    blockOf.set(transactionHash, blockHash);
  }
  return hashes;
}
