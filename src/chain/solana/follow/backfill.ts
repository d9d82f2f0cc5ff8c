import type { FollowedSource } from '../../../store/chain/network-store.ts';
import type { Node } from '../../rpc/node.ts';
import { type ListedSignature, MAX_SIGNATURES, signaturesOf } from '../rpc/calls.ts';
import { accountsOf, commit } from './accounts.ts';
import { fetchTransactions } from './lists.ts';
import type { Backfill } from './memory.ts';
import { placeTransactions } from './place.ts';
import type { SolanaPoll } from './solana-poll.ts';

/**
 * Reads the slots of a source from before its accounts were watched. The lists of its accounts come first, newest
 * first, from two nodes if there are two. The transactions follow, oldest first. Only the next slot is stored, so after
 * a restart the backfill lists again from that slot.
 */

const LISTS_A_TURN = 10;
const TRANSACTIONS_A_TURN = 100;
/** Limit on the transactions of one backfill. Paybell pauses a source with more, whose `fromBlock` must be newer. */
const MAX_SIGNATURES_KEPT = 100_000;
/** Each list is read twice, because nodes leave transactions out. */
const PASSES = 2;

export function hasBackfill(poll: SolanaPoll): boolean {
  return nextSource(poll) !== null;
}

/** The next source whose backfill range is finalized, so that it cannot change. */
function nextSource({ sources, state }: SolanaPoll): FollowedSource | null {
  const isReadable = ({ nextBlock, lastBlock }: FollowedSource) =>
    nextBlock !== null && lastBlock !== null && nextBlock <= lastBlock && lastBlock <= (state.final ?? -1);
  return sources.find(isReadable) ?? null;
}

export async function backfillOnce(poll: SolanaPoll, node: Node): Promise<void> {
  const source = nextSource(poll);
  const { memory } = poll.follow;
  if (source === null) {
    memory.backfill = null;
    return;
  }
  const name = `${source.entityId} ${source.sourceId} ${source.revision ?? 1}`;
  if (memory.backfill?.source !== name || memory.backfill.lastBlock !== source.lastBlock) {
    memory.backfill = newBackfill(name, source);
  }
  const { backfill } = memory;
  if (backfill.queue === null) await listOn(poll, node, source, backfill);
  else await readOn(poll, node, source, backfill, backfill.queue);
}

function newBackfill(name: string, source: FollowedSource): Backfill {
  const accounts = accountsOf(source).map(({ account }) => account);
  const pending = accounts.flatMap((account) =>
    Array.from({ length: PASSES }, (_, pass) => ({ account, pass, before: null })),
  );
  return { source: name, lastBlock: source.lastBlock ?? 0, pending, signatures: new Map(), queue: null, done: 0 };
}

async function listOn(poll: SolanaPoll, leader: Node, source: FollowedSource, backfill: Backfill): Promise<void> {
  const from = source.nextBlock ?? source.fromBlock;
  const others = poll.follow.nodes.others(leader);
  const turn = backfill.pending.slice(0, LISTS_A_TURN);
  for (const [pass, own] of Map.groupBy(turn, (one) => one.pass)) {
    const node = pass === 0 ? leader : (others[0] ?? leader);
    const calls = own.map((one) => ({
      one,
      call: signaturesOf(one.account, { before: one.before, minContextSlot: poll.state.final }),
    }));
    const outcomes = await node.send(
      calls.map(({ call }) => call),
      'backfill',
    );
    for (const { one, call } of calls) {
      const page = outcomes.valueOrNull(call);
      if (page === null) continue;
      for (const entry of page) {
        if (entry.slot >= from && entry.slot <= backfill.lastBlock && !entry.isFailed) {
          backfill.signatures.set(entry.signature, entry);
        }
      }
      const last = page.at(-1);
      const isEnd = last === undefined || page.length < MAX_SIGNATURES || last.slot < from;
      if (isEnd) backfill.pending = backfill.pending.filter((each) => each !== one);
      else one.before = last.signature;
    }
  }
  if (backfill.signatures.size > MAX_SIGNATURES_KEPT) {
    const reason = `The wallets of the source have more than ${MAX_SIGNATURES_KEPT} transactions since fromBlock.`;
    await poll.pause([source], reason);
    poll.follow.memory.backfill = null;
    return;
  }
  if (backfill.pending.length > 0) return;
  backfill.queue = [...backfill.signatures.values()].sort((a, b) => a.slot - b.slot);
  if (backfill.queue.length === 0) await commit(poll, { backfilled: [progressOf(source, backfill.lastBlock + 1)] });
}

async function readOn(
  poll: SolanaPoll,
  node: Node,
  source: FollowedSource,
  backfill: Backfill,
  queue: readonly ListedSignature[],
): Promise<void> {
  const { memory } = poll.follow;
  const part = wholeSlots(queue, backfill.done);
  await fetchTransactions(poll, node, part, { most: part.length });
  const transactions = part.flatMap(({ signature, slot }) => {
    const transaction = memory.transactions.get(signature);
    return transaction?.slot === slot ? [transaction] : [];
  });
  // The other node may have the transactions that this node lacks.
  const missing = part.filter(({ signature, slot }) => memory.transactions.get(signature)?.slot !== slot);
  if (missing.length > 0) {
    const [other] = poll.follow.nodes.others(node);
    if (other !== undefined) await fetchTransactions(poll, other, missing, { most: missing.length });
    return;
  }
  const { changes, unplaced } = await placeTransactions(poll, node, transactions, [source]);
  const isDone = backfill.done + part.length >= queue.length;
  const next = isDone ? backfill.lastBlock + 1 : (queue[backfill.done + part.length]?.slot ?? backfill.lastBlock + 1);
  const isPlaced = unplaced.size === 0;
  if (!isPlaced && changes.length === 0) return;
  await commit(poll, { changes, ...(isPlaced && { backfilled: [progressOf(source, next)] }) });
  if (!isPlaced) return;
  backfill.done += part.length;
  if (isDone) memory.backfill = null;
}

/** The next transactions, up to the end of a slot. */
function wholeSlots(queue: readonly ListedSignature[], start: number): readonly ListedSignature[] {
  const lastSlot = queue[start + TRANSACTIONS_A_TURN - 1]?.slot;
  if (lastSlot === undefined) return queue.slice(start);
  const end = queue.findIndex(({ slot }, place) => place >= start && slot > lastSlot);
  return queue.slice(start, end === -1 ? queue.length : end);
}

function progressOf({ entityId, sourceId, lastBlock }: FollowedSource, nextBlock: number) {
  return { entityId, sourceId, nextBlock, lastBlock: lastBlock ?? nextBlock - 1 };
}
