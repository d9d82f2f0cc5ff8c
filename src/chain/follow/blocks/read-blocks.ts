import type { FollowedSource } from '../../../store/chain/network-store.ts';
import type { Outcomes } from '../../rpc/batch.ts';
import { blockAt, type Call, logsOf, type Purpose, receiptOf } from '../../rpc/calls.ts';
import { RpcFailure } from '../../rpc/failures.ts';
import type { Node } from '../../rpc/node.ts';
import type { Header, Log, LogFilter, Receipt } from '../../rpc/types.ts';
import { garbageFrom } from './doubt.ts';
import { logFilters } from './log-filters.ts';

export type Blocks = {
  readonly from: number;
  readonly to: number;
  readonly sources: readonly FollowedSource[];
  /** The block whose header has to come with the logs, at or above `to`; null for none. */
  readonly check: number | null;
  /** The hash of the only block, if the node is asked for it by its hash. */
  readonly blockHash?: string;
  /** Transactions whose receipts are asked for with them. */
  readonly transactions?: readonly string[];
  readonly contractsPerCall?: number;
  /** Why they are read; `logs` unless given. */
  readonly purpose?: Purpose;
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
  const header = check === null ? null : blockAt(check);
  const { blockHash, purpose = 'logs' } = blocks;
  const filters = from > to ? [] : logFilters(sources, from, to, blocks.contractsPerCall);
  const logCalls = filters.map((filter) => logsOf(blockHash === undefined ? filter : { ...filter, blockHash }));
  const receiptCalls = transactions.map((hash) => ({ hash, call: receiptOf(hash) }));
  const calls = [...(header === null ? [] : [header]), ...logCalls, ...receiptCalls.map(({ call }) => call)];
  const outcomes = await sendUnlessTooLarge(node, calls, purpose);
  const asked = to - from + 1;
  if (outcomes === null) return refused(node, asked, 'too_large');
  const refusals = logCalls.flatMap((call) => outcomes.failure(call) ?? []);
  if (refusals.some(({ kind }) => kind === 'rpc_error')) return refused(node, asked, 'refused');
  if (refusals.length > 0 || (header !== null && outcomes.failure(header) !== null)) throw garbageFrom(node);
  const lists = logCalls.map((call) => outcomes.value(call));
  const counts = filters.map((filter, at) => ({ filter, logs: lists[at]?.length ?? 0 }));
  if (await isCutOff(node, counts, purpose)) return refused(node, asked, 'refused');
  if (filters.length > 0) node.logRange.noteSuccess(asked, Math.max(...lists.map(({ length }) => length)));
  const receipts = receiptCalls.filter(({ call }) => outcomes.failure(call) === null);
  const checked = header === null ? null : outcomes.value(header);
  const logs = checkedLogs(node, lists.flat());
  return {
    header: checked,
    logs: checked === null ? logs : datedBy(checked, logs),
    receipts: new Map(receipts.map(({ hash, call }) => [hash, outcomes.value(call)])),
  };
}

function refused(node: Node, blocks: number, refusal: Refusal): Refusal {
  node.logRange.noteRefusal(blocks);
  return refusal;
}

/** The most results of an answer, by the limits of providers. Some cut the list there without an error. */
const ROUND_COUNTS: ReadonlySet<number> = new Set([100, 500, 1_000, 2_000, 5_000, 10_000]);

type Count = { readonly filter: LogFilter; readonly logs: number };

/** Whether the node left logs out of a list with exactly as many as a limit allows: the halves of its blocks then have more. */
async function isCutOff(node: Node, counts: readonly Count[], purpose: Purpose): Promise<boolean> {
  let doubtful = counts.filter(isDoubtful);
  while (doubtful.length > 0) {
    const halves = doubtful.map(({ filter, logs }) => ({ logs, parts: halvesOf(filter) }));
    const calls = halves.flatMap(({ parts }) => parts.map(({ call }) => call));
    const outcomes = await sendUnlessTooLarge(node, calls, purpose);
    if (outcomes === null) return true;
    const next: Count[] = [];
    for (const { logs, parts } of halves) {
      if (parts.some(({ call }) => outcomes.failure(call) !== null)) return true;
      const found = parts.map(({ filter, call }) => ({ filter, logs: outcomes.value(call).length }));
      if (found.reduce((sum, part) => sum + part.logs, 0) > logs) return true;
      next.push(...found.filter(isDoubtful));
    }
    doubtful = next;
  }
  return false;
}

function isDoubtful({ filter: { fromBlock, toBlock }, logs }: Count): boolean {
  return ROUND_COUNTS.has(logs) && fromBlock < toBlock;
}

function halvesOf(filter: LogFilter): { readonly filter: LogFilter; readonly call: Call<Log[]> }[] {
  const middle = Math.floor((filter.fromBlock + filter.toBlock) / 2);
  const parts = [
    { ...filter, toBlock: middle },
    { ...filter, fromBlock: middle + 1 },
  ];
  return parts.map((part) => ({ filter: part, call: logsOf(part) }));
}

async function sendUnlessTooLarge(
  node: Node,
  calls: readonly Call<unknown>[],
  purpose: Purpose,
): Promise<Outcomes | null> {
  try {
    return await node.send(calls, purpose);
  } catch (error) {
    if (error instanceof RpcFailure && error.kind === 'too_large') return null;
    throw error;
  }
}

/** The logs with the date of their block. Not every node sends it with a log, and the header of the block has it too. */
export function datedBy({ hash, timestampS }: Header, logs: readonly Log[]): Log[] {
  return logs.map((log) => (log.blockS === undefined && log.blockHash === hash ? { ...log, blockS: timestampS } : log));
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
