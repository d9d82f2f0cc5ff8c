import { NATIVE_TOKEN } from '../../domain/chain/coin.ts';
import type { FoundFact } from '../../domain/chain/facts.ts';
import { amountOfKey, paymentColumns } from '../../domain/chain/payments.ts';
import type { FollowedSource } from '../../store/chain/network-store.ts';
import {
  type AuditedFact,
  countPausedSources,
  readFactsById,
  readFactsOfBlocks,
  readFinalBlock,
} from '../../store/chain/read/audited-facts.ts';
import type { Database } from '../../store/database/database.ts';
import { isCoinSource, MAX_COIN_BLOCKS } from '../evm/coin/coin-blocks.ts';
import { answerTo, callsOf, transactionCalls } from '../evm/coin/transfers.ts';
import type { Decoder } from '../evm/decode/decoder.ts';
import { isRefusal, readBlocks } from '../evm/follow/blocks/read-blocks.ts';
import { retryInDoubt } from '../follow/doubt.ts';
import { RpcFailure } from '../rpc/failures.ts';
import { type AuditedNode, CallsUsedError } from './audited-node.ts';

/**
 * Compares the store with a node, over the blocks of one day that Paybell calls final. The audit reads the logs again
 * with the sources that are followed now, and writes nothing.
 *
 * | difference     | the node                        | the store                                                |
 * |----------------|---------------------------------|----------------------------------------------------------|
 * | `missing`      | has the log                     | has no fact                                              |
 * | `undone`       | has the log                     | has the fact as lost or retracted                        |
 * | `not_final`    | has the log                     | has the fact as `seen`: nodes disagree, or too few show it |
 * | `other_block`  | has the log in another block    | has the fact                                             |
 * | `other_amount` | has another amount or token     | has the fact                                             |
 * | `not_on_chain` | has no such log                 | has the fact as seen or final                            |
 */
export type AuditDifference = {
  readonly difference: 'missing' | 'undone' | 'not_final' | 'other_block' | 'other_amount' | 'not_on_chain';
  readonly entityId: string;
  readonly factId: string;
  readonly transactionHash: string;
  readonly blockNumber: number;
  readonly stored: AuditedSide | null;
  readonly onChain: AuditedSide | null;
};

export type AuditedSide = {
  readonly state: string | null;
  readonly blockNumber: number | null;
  readonly blockHash: string | null;
  readonly token: string | null;
  readonly amount: string | null;
};

export type DayAudit = {
  /** The blocks that were compared; null if the day has no final block. */
  readonly blocks: { readonly from: number; readonly to: number } | null;
  /** Whether every block of the day was compared, and if not, why. */
  readonly state: 'complete' | 'not_final_yet' | 'calls_used';
  /** Facts that the store and the node both have, without a difference. */
  readonly equal: number;
  readonly differences: readonly AuditDifference[];
  readonly calls: number;
  readonly pausedSources: number;
};

export type AuditOptions = {
  readonly db: Database;
  readonly node: AuditedNode;
  readonly decoder: Decoder;
  /** The sources that are followed now. */
  readonly sources: readonly FollowedSource[];
  readonly networkId: number;
  readonly sinceS: number;
  readonly untilS: number;
  readonly onProgress?: (done: number, total: number) => void;
};

const FIRST_RANGE = 1_000;
/** Bounds memory, because all logs of a range are decoded together. */
const MAX_RANGE = 5_000;

export async function auditDay(options: AuditOptions): Promise<DayAudit> {
  const { db, node, networkId, sinceS, untilS } = options;
  const final = await readFinalBlock(db, networkId);
  const pausedSources = await countPausedSources(db, networkId);
  const found: { equal: number; differences: AuditDifference[] } = { equal: 0, differences: [] };
  const result = (blocks: DayAudit['blocks'], state: DayAudit['state']): DayAudit => ({
    ...{ blocks, state, ...found, calls: node.calls, pausedSources },
  });
  let done: DayAudit['blocks'] = null;
  try {
    const head = await node.head();
    const from = await node.firstBlockAt(sinceS, head);
    const last = (await node.firstBlockAt(untilS, head)) - 1;
    const isOver = head.timestampS >= untilS && final !== null && final >= last;
    const to = Math.min(last, final ?? -1, head.number);
    const sources = options.sources.filter(({ fromBlock }) => fromBlock <= to);
    const most = sources.some(isCoinSource) ? MAX_COIN_BLOCKS : MAX_RANGE;
    let range = Math.min(most, FIRST_RANGE);
    for (let next = from; next <= to; ) {
      const end = Math.min(to, next + range - 1);
      const facts = await readFacts(options, sources, next, end);
      if (facts === null) {
        if (next === end) throw new Error(`the node refuses to return the logs of block ${next}`);
        range = Math.max(1, Math.floor((end - next + 1) / 2));
        continue;
      }
      await compareRange(options, sources, facts, { from: next, to: end }, found);
      done = { from, to: end };
      options.onProgress?.(end - from + 1, to - from + 1);
      next = end + 1;
      range = Math.min(most, range * 2);
    }
    return result(done, isOver ? 'complete' : 'not_final_yet');
  } catch (error) {
    if (!(error instanceof CallsUsedError)) throw error;
    return result(done, 'calls_used');
  }
}

/** The facts in the logs of these blocks; null if the node refuses the range. */
async function readFacts(
  { node, decoder }: AuditOptions,
  sources: readonly FollowedSource[],
  from: number,
  to: number,
): Promise<FoundFact[] | null> {
  if (sources.length === 0) return [];
  const reading = await node.ask((one) => retryInDoubt(() => readBlocks(one, { from, to, sources, check: null })));
  if (isRefusal(reading)) return null;
  return node.ask(() => decoder.decode(reading.logs, sources));
}

async function compareRange(
  options: AuditOptions,
  sources: readonly FollowedSource[],
  facts: readonly FoundFact[],
  { from, to }: { from: number; to: number },
  found: { equal: number; differences: AuditDifference[] },
): Promise<void> {
  const { db, networkId } = options;
  const bySource = new Map(sources.map((source) => [`${source.entityId} ${source.sourceId}`, source]));
  const sourceOf = ({ entityId, sourceId }: { entityId: string; sourceId: string | null }) =>
    bySource.get(`${entityId} ${sourceId}`);
  const stored = new Map((await readFactsOfBlocks(db, networkId, from, to)).map((fact) => [keyOf(fact), fact]));
  const others = facts.filter((fact) => !stored.has(keyOf(fact)));
  const elsewhere = new Map((await readFactsById(db, others)).map((fact) => [keyOf(fact), fact]));
  for (const fact of facts) {
    const known = stored.get(keyOf(fact)) ?? elsewhere.get(keyOf(fact)) ?? null;
    stored.delete(keyOf(fact));
    const source = sourceOf(fact);
    if (known === null && source !== undefined && isUnread(source, fact.position.blockNumber)) continue;
    const difference = differenceOf(fact, known);
    if (difference === null) found.equal++;
    else found.differences.push(difference);
  }
  for (const fact of stored.values()) {
    // Skips the facts of paused and deleted sources, because the audit does not read their logs.
    if ((fact.state !== 'seen' && fact.state !== 'final') || sourceOf(fact) === undefined) continue;
    if (await isInReceipt(options, fact)) found.equal++;
    else
      found.differences.push({ ...nameOf(fact), difference: 'not_on_chain', stored: storedSide(fact), onChain: null });
  }
}

/** Whether the backfill of the source still has to read the block. */
function isUnread({ nextBlock, lastBlock }: FollowedSource, block: number): boolean {
  if (nextBlock === null) return true;
  return block >= nextBlock && (lastBlock === null || block <= lastBlock);
}

/**
 * Whether the receipt still has the log of the fact. If the source's definition has changed, it may no longer take this
 * log.
 */
async function isInReceipt({ node, decoder, networkId }: AuditOptions, fact: AuditedFact): Promise<boolean> {
  const { contract, transactionHash } = fact;
  const calls = transactionCalls([{ transactionHash, isCoin: contract === NATIVE_TOKEN }]);
  const outcomes = await node.send(callsOf(calls.values()));
  const [receipt] = [...calls.values()].map((call) => answerTo(call, outcomes));
  if (receipt === undefined) throw new RpcFailure('garbage');
  if (receipt === null || receipt.blockHash !== fact.blockHash) return false;
  return decoder.identify(networkId, receipt.logs).has(fact.factId);
}

function differenceOf(fact: FoundFact, stored: AuditedFact | null): AuditDifference | null {
  const { blockNumber, blockHash } = fact.position;
  const { token, amount } = paymentColumns(fact.kind, fact.fields);
  const onChain = { state: null, blockNumber, blockHash, token, amount: shownAmount(amount) };
  const named = { entityId: fact.entityId, factId: fact.factId, transactionHash: fact.transactionHash, blockNumber };
  if (stored === null) return { ...named, difference: 'missing', stored: null, onChain };
  const sides = { stored: storedSide(stored), onChain };
  if (stored.state === 'lost' || stored.state === 'retracted') return { ...named, difference: 'undone', ...sides };
  if (stored.blockHash !== blockHash) return { ...named, difference: 'other_block', ...sides };
  const isOther = stored.isPayment === 1 && (stored.token !== token || stored.amount !== amount);
  if (isOther) return { ...named, difference: 'other_amount', ...sides };
  return stored.state === 'final' ? null : { ...named, difference: 'not_final', ...sides };
}

function storedSide({ state, blockNumber, blockHash, token, amount }: AuditedFact): AuditedSide {
  return { state, blockNumber, blockHash, token, amount: shownAmount(amount) };
}

function shownAmount(key: string | null): string | null {
  return key === null ? null : amountOfKey(key);
}

function keyOf({ entityId, factId }: { readonly entityId: string; readonly factId: string }): string {
  return `${entityId} ${factId}`;
}

function nameOf({ entityId, factId, transactionHash, blockNumber }: AuditedFact) {
  return { entityId, factId, transactionHash, blockNumber: blockNumber ?? 0 };
}
