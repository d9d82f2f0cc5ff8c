import { NATIVE_TOKEN } from '../../../../domain/chain/coin.ts';
import type { FollowedSource } from '../../../../store/chain/network-store.ts';
import { garbageFrom } from '../../../follow/doubt.ts';
import type { Header } from '../../../follow/header.ts';
import type { Outcomes } from '../../../rpc/batch.ts';
import type { Call, Purpose } from '../../../rpc/call.ts';
import { RpcFailure } from '../../../rpc/failures.ts';
import type { Node } from '../../../rpc/node.ts';
import { CoinBlocks, isCoinSource } from '../../coin/coin-blocks.ts';
import { blockAt, logsOf, receiptOf } from '../../rpc/calls.ts';
import type { Log, LogFilter, Receipt } from '../../rpc/types.ts';
import { type BookModes, WideLogs } from './book-modes.ts';
import { logFilters } from './log-filters.ts';

export type Blocks = {
  readonly from: number;
  readonly to: number;
  readonly sources: readonly FollowedSource[];
  /** The block whose header has to come with the logs, at or above `to`; null for none. */
  readonly check: number | null;
  /** Set to ask for a single block by its hash. */
  readonly blockHash?: string;
  /** Transactions whose receipts are asked for in the same batch. */
  readonly transactions?: readonly string[];
  readonly contractsPerCall?: number;
  /** How the logs of address books are read; absent to ask for the addresses. */
  readonly modes?: BookModes;
  /** The purpose under which the calls are counted; `logs` by default. */
  readonly purpose?: Purpose;
};

export type Reading = {
  /** The block at `check`; null if the node does not have it. */
  readonly header: Header | null;
  readonly logs: readonly Log[];
  /** Null for a transaction without a block. A transaction that is absent from the map could not be asked for. */
  readonly receipts: ReadonlyMap<string, Receipt | null>;
};

/** The node rejected the range of blocks as too wide, or its logs are too large to be read. */
export type Refusal = 'refused' | 'too_large';

export function isRefusal(reading: Reading | Refusal): reading is Refusal {
  return typeof reading === 'string';
}

/** Reads the blocks in one batch. If the node refuses a wide reading, asks again for the addresses alone. */
export async function readBlocks(node: Node, blocks: Blocks): Promise<Reading | Refusal> {
  const { from, to, modes } = blocks;
  const withLogs = blocks.sources.filter((source) => !isCoinSource(source));
  const wide = from > to ? NONE : (modes?.choose(withLogs, to - from + 1) ?? NONE);
  const reading = await readOnce(node, blocks, wide);
  if (!isRefusal(reading) || wide.size === 0) return reading;
  for (const group of wide) modes?.noteRefused(group, to - from + 1);
  return readOnce(node, blocks, NONE);
}

const NONE: ReadonlySet<string> = new Set();

async function readOnce(node: Node, blocks: Blocks, wide: ReadonlySet<string>): Promise<Reading | Refusal> {
  const { from, to, check, transactions = [] } = blocks;
  const { sources = [], coins = [] } = Object.groupBy(blocks.sources, (one) =>
    isCoinSource(one) ? 'coins' : 'sources',
  );
  const header = check === null ? null : blockAt(check);
  const { blockHash, purpose = 'logs' } = blocks;
  const filters = from > to ? [] : logFilters(sources, from, to, blocks.contractsPerCall, wide);
  const wideLogs = new WideLogs(sources, wide);
  const logCalls = filters.map((filter) =>
    countedLogs(blockHash === undefined ? filter : { ...filter, blockHash }, wideLogs),
  );
  const receiptCalls = transactions.map((hash) => ({ hash, call: receiptOf(hash) }));
  const coinBlocks = new CoinBlocks(coins, { from, to, blockHash });
  const calls = [
    ...(header === null ? [] : [header]),
    ...coinBlocks.calls,
    ...logCalls.map(({ call }) => call),
    ...receiptCalls.map(({ call }) => call),
  ];
  const outcomes = await sendUnlessTooLarge(node, calls, purpose);
  const asked = to - from + 1;
  const refuse = (refusal: Refusal) => (wide.size > 0 ? refusal : refused(node, asked, refusal));
  if (outcomes === null) return refuse('too_large');
  const refusals = logCalls.flatMap(({ call }) => outcomes.failure(call) ?? []);
  if (refusals.some(({ kind }) => kind === 'rpc_error')) return refuse('refused');
  if (refusals.length > 0 || (header !== null && outcomes.failure(header) !== null)) throw garbageFrom(node);
  if (coinBlocks.isRefused(node, outcomes)) return 'refused';
  const lists = logCalls.map(({ call }) => outcomes.value(call));
  for (const { group, logs } of wideLogs.received()) blocks.modes?.noteReceived(group, asked, logs);
  const counts = filters.map((filter, at) => ({ filter, logs: logCalls[at]?.received() ?? 0 }));
  if (await isCutOff(node, counts, purpose)) return refuse('refused');
  if (filters.length > 0) node.logRange.noteSuccess(asked, Math.max(...counts.map(({ logs }) => logs)));
  const receipts = receiptCalls.filter(({ call }) => outcomes.failure(call) === null);
  const checked = header === null ? null : outcomes.value(header);
  const transfers = await coinBlocks.read(node, outcomes, checked, purpose);
  const logs = checkedLogs(node, [...lists.flat(), ...transfers]);
  return {
    header: checked,
    logs: checked === null ? logs : datedBy(checked, logs),
    receipts: new Map(receipts.map(({ hash, call }) => [hash, outcomes.value(call)])),
  };
}

/**
 * A call for the logs of `filter` that `wide` takes. `received` counts all logs of the response, including those that
 * `wide` drops.
 */
function countedLogs(
  filter: LogFilter,
  wide: WideLogs | null,
): { readonly call: Call<Log[]>; readonly received: () => number } {
  let received = 0;
  const call = logsOf(filter, (raw) => {
    received++;
    return wide === null || wide.isTaken(raw);
  });
  return { call, received: () => received };
}

function refused(node: Node, blocks: number, refusal: Refusal): Refusal {
  node.logRange.noteRefusal(blocks);
  return refusal;
}

/** Limits of providers on the results of a call. Some providers cut the list there without an error. */
const ROUND_COUNTS: ReadonlySet<number> = new Set([100, 500, 1_000, 2_000, 5_000, 10_000]);

type Count = { readonly filter: LogFilter; readonly logs: number };

/** Whether the node cut a list off at a limit of results. If it did, the two halves of the list's blocks have more logs. */
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
      const found = parts.map(({ filter, received }) => ({ filter, logs: received() }));
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

function halvesOf(filter: LogFilter) {
  const middle = Math.floor((filter.fromBlock + filter.toBlock) / 2);
  const parts = [
    { ...filter, toBlock: middle },
    { ...filter, fromBlock: middle + 1 },
  ];
  return parts.map((part) => ({ filter: part, ...countedLogs(part, null) }));
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

/** Adds the time of the header to the logs of its block, because not every node sends the time with a log. */
export function datedBy({ hash, timestampS }: Header, logs: readonly Log[]): Log[] {
  return logs.map((log) => (log.blockS === undefined && log.blockHash === hash ? { ...log, blockS: timestampS } : log));
}

/** Each log once. Rejects logs that have two blocks at one number, or one transaction in two blocks. */
function checkedLogs(node: Node, logs: readonly Log[]): readonly Log[] {
  const unique = isAscending(logs) ? logs : uniqueOf(logs);
  if (hashesOf(unique) === null) throw garbageFrom(node);
  return unique;
}

/** Whether each log is after the log before it, as in the response to one call. If so, no log occurs twice. */
function isAscending(logs: readonly Log[]): boolean {
  return logs.every((log, index) => {
    const before = logs[index - 1];
    if (before === undefined || before.blockNumber < log.blockNumber) return true;
    return before.blockHash === log.blockHash && before.logIndex < log.logIndex;
  });
}

function uniqueOf(logs: readonly Log[]): Log[] {
  return [...new Map(logs.map((log) => [placeOf(log), log])).values()];
}

/** The place of a log, which no other log has. Transfers of the coin have no index. */
export function placeOf({ blockHash, logIndex, address, transactionHash }: Log): string {
  return address === NATIVE_TOKEN ? `${blockHash} ${transactionHash}` : `${blockHash} ${logIndex}`;
}

/**
 * The hashes of the logs' blocks, by number. Null if two blocks have the same number, or if one transaction is in two blocks. A node
 * that switches between two forks can send such logs, and they would make two facts of one payment.
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
