import type { BlockRef } from '../../../domain/chain/facts.ts';
import { garbageFrom, InDoubt, retryInDoubt } from '../../follow/doubt.ts';
import type { Header } from '../../follow/header.ts';
import type { Call } from '../../rpc/call.ts';
import type { Node } from '../../rpc/node.ts';
import { blockAt, taggedBlock } from '../rpc/calls.ts';
import { chooseAnchor, floorIndex } from './blocks/anchors.ts';
import type { EvmPoll } from './evm-poll.ts';
import { mayFollowReorg } from './witnesses/consult.ts';

/** The state of the network, as one node reports it. */
export type Look = {
  readonly head: Header;
  /** Whether the node was asked what is final. */
  readonly withTags: boolean;
  /** The block that the node calls final; null if it did not say, or was not asked. */
  readonly finalized: Header | null;
  /** The newest stored block that the node is known to have; null before the first block was read. */
  readonly agreed: BlockRef | null;
  /** Whether a newer stored block was replaced. */
  readonly isTipReplaced: boolean;
  readonly blockTimeMs: number | null;
  /** The node's blocks that this poll has seen, by number. */
  readonly hashes: ReadonlyMap<number, string>;
};

export type LookResult =
  | { readonly kind: 'look'; readonly look: Look }
  /** The node does not have the tip yet. */
  | { readonly kind: 'behind' }
  /** The node has replaced the tip, and other nodes have not. */
  | { readonly kind: 'minority' }
  /** The node has none of the stored blocks above finality, and another block at finality. */
  | { readonly kind: 'conflict' };

/** How far back each batch goes, in anchors from the anchor that disagreed. */
const STEPS_BACK = [
  [1, 3, 7],
  [15, 31, 63],
  [127, 255],
];
/**
 * Number of polls in which a node has a lower head than the tip, and another block below its head, before Paybell
 * follows it back.
 */
const SHORT_FORKS = 3;
/** The block time is learned over this many blocks, so that one late block does not change it much. */
const PACE_BLOCKS = 16;
/** How often Paybell checks that the head descends from the tip, on a network with several blocks per poll. */
const VERIFY_MS = 5_000;
const MANY_BLOCKS_MS = 1_000;
const MAX_GROWTH = 4;

export type LookOptions = {
  /** Whether to ask for what the node calls final and safe. */
  readonly withTags: boolean;
  /** Whether the tail is read again. */
  readonly isTail: boolean;
};

/**
 * The first request of a poll: the head alone, as a rule. A head whose parent is the tip has replaced nothing. For any other
 * head, the node has to show that it has the anchor.
 */
export async function lookAt(poll: EvmPoll, node: Node, { withTags, isTail }: LookOptions): Promise<LookResult> {
  const { memory, witnesses, habits } = poll.follow;
  const { tip } = poll.state;
  const state = { ...poll.state, head: memory.head ?? poll.state.head };
  const rangeBlocks = node.logRange.cap(memory.range.blocks);
  const choose = (highest: number | null) =>
    chooseAnchor(state, { rangeBlocks, highest, isTail: isTail || highest !== null });
  const early = isTail || memory.lowHead !== null ? choose(memory.lowHead) : null;
  const [latest, finalized, safe] = [taggedBlock('latest'), taggedBlock('finalized'), taggedBlock('safe')];
  const atEarly = early === null ? null : blockAt(early.number);
  const tagCalls = withTags ? [finalized, ...(habits.asksSafe ? [safe] : [])] : [];
  const outcomes = await node.send([latest, ...tagCalls, ...(atEarly === null ? [] : [atEarly])], 'head');
  const head = outcomes.value(latest);
  if (head === null) throw garbageFrom(node);
  witnesses.noteHead(node, head);
  // A node that does not know a tag returns an error, null or an empty hash.
  const tags = withTags
    ? { finalized: outcomes.valueOrNull(finalized), safe: habits.asksSafe ? outcomes.valueOrNull(safe) : null }
    : { finalized: null, safe: null };
  if (withTags) witnesses.noteTags(node, head, tags);
  const blockTimeMs = learnPace(poll, head);
  const hashes = new Map([[head.number, head.hash]]);
  const look = {
    head,
    withTags,
    finalized: tags.finalized,
    agreed: early ?? tip,
    isTipReplaced: false,
    blockTimeMs,
    hashes,
  };
  if (tip === null) return { kind: 'look', look: { ...look, agreed: null } };
  if (early === null && isNext(poll, tip, head)) return { kind: 'look', look };
  const anchor = early ?? choose(head.number < tip.number ? head.number : null) ?? tip;
  const header = atEarly === null ? await headerAt(node, anchor) : outcomes.value(atEarly);
  return compareAt(poll, node, { ...look, agreed: anchor, hashes }, header);
}

/**
 * Whether the head is the tip or its child. With several blocks per poll, any newer head counts for a few seconds after
 * the last check.
 */
function isNext(poll: EvmPoll, tip: BlockRef, head: Header): boolean {
  const { state, follow } = poll;
  const { memory, clock } = follow;
  const nowMs = clock.nowMs();
  const isVerified = head.hash === tip.hash || (head.number === tip.number + 1 && head.parentHash === tip.hash);
  if (isVerified) {
    memory.verifiedAtMs = nowMs;
    poll.isTipShared = true;
  }
  const isFast = (state.blockTimeMs ?? MANY_BLOCKS_MS) < MANY_BLOCKS_MS;
  return isVerified || (isFast && head.number > tip.number + 1 && nowMs - memory.verifiedAtMs < VERIFY_MS);
}

export async function headerAt(node: Node, { number }: BlockRef): Promise<Header | null> {
  const call = blockAt(number);
  return (await node.send([call], 'head')).value(call);
}

type Compared = Look & { readonly agreed: BlockRef; readonly hashes: Map<number, string> };

async function compareAt(poll: EvmPoll, node: Node, look: Compared, header: Header | null): Promise<LookResult> {
  const { memory, clock } = poll.follow;
  const { head, agreed: anchor, hashes } = look;
  const tip = poll.state.tip ?? anchor;
  if (header === null) {
    if (head.number >= anchor.number) throw garbageFrom(node);
    return behind(poll, head);
  }
  hashes.set(header.number, header.hash);
  if (header.hash === anchor.hash) {
    memory.shortForks = 0;
    memory.verifiedAtMs = clock.nowMs();
    if (head.number < tip.number) return behind(poll, head);
    const isTipReplaced = !(await hasTip(poll, node, look, tip));
    if (isTipReplaced && !(await mayFollowReorg(poll, node, tip, head.number))) return { kind: 'minority' };
    poll.isTipShared = true;
    return {
      kind: 'look',
      look: { ...look, isTipReplaced, blockTimeMs: learnBlockTime(look.blockTimeMs, header, head) },
    };
  }
  // A node with a lower head may be on an abandoned branch. Follow it back only after it has stayed there for
  // `SHORT_FORKS` polls.
  if (head.number < tip.number && ++memory.shortForks < SHORT_FORKS) return behind(poll, head);
  const agreed = await walkBack(poll, node, anchor, head, hashes);
  if (agreed === null) return { kind: 'conflict' };
  if (!(await mayFollowReorg(poll, node, anchor, head.number))) return { kind: 'minority' };
  poll.isTipShared = true;
  return { kind: 'look', look: { ...look, agreed, isTipReplaced: true } };
}

/**
 * Whether a node that has the anchor also has the newer tip. If not, it has replaced the anchors in between. One node
 * of several may not do that alone, and the replaced anchors must not become final. A network's only node is not asked
 * here, because it is asked again before finality.
 */
async function hasTip({ follow }: EvmPoll, node: Node, { head, agreed }: Compared, tip: BlockRef): Promise<boolean> {
  const isKept = head.hash === tip.hash || head.parentHash === tip.hash || agreed.hash === tip.hash;
  if (isKept || follow.nodes.count === 1) return true;
  return (await headerAt(node, tip))?.hash === tip.hash;
}

function behind(poll: EvmPoll, head: Header): LookResult {
  poll.follow.memory.lowHead = head.number;
  return { kind: 'behind' };
}

/** The newest of some anchors that the node has too; null if it has another block at finality. */
async function walkBack(
  poll: EvmPoll,
  node: Node,
  from: BlockRef,
  head: Header,
  hashes: Map<number, string>,
): Promise<BlockRef | null> {
  const { anchors, final } = poll.state;
  const start = anchors.findIndex(({ number }) => number <= from.number);
  const floor = floorIndex(anchors, final);
  for (const steps of STEPS_BACK) {
    const indexes = [...new Set(steps.map((step) => Math.min(start + step, floor)))];
    const asked = indexes.flatMap((index) => anchors[index] ?? []).filter(({ number }) => number < from.number);
    const headers = await retryInDoubt(() => blocksAt(node, asked, head));
    for (const { number, hash } of headers) hashes.set(number, hash);
    const agreed = asked.find(({ number, hash }) => hashes.get(number) === hash);
    if (agreed !== undefined) return agreed;
    if (indexes.includes(floor)) return null;
  }
  return null;
}

/** Reads the node's blocks at the numbers of the given blocks. Leaves out blocks that the node does not have. */
async function blocksAt(node: Node, blocks: readonly BlockRef[], head: Header): Promise<Header[]> {
  if (blocks.length === 0) return [];
  const calls = blocks.map(({ number }) => blockAt(number));
  const atHead = blockAt(head.number);
  const outcomes = await node.send([atHead, ...calls.map((call): Call<unknown> => call)], 'head');
  if (outcomes.value(atHead)?.hash !== head.hash) throw new InDoubt();
  return calls.flatMap((call) => outcomes.value(call) ?? []);
}

/** Learns the block time from this head and an older one. */
function learnPace({ state, follow }: EvmPoll, head: Header): number | null {
  const { memory } = follow;
  const { paceFrom } = memory;
  const isNear = paceFrom !== null && head.number - paceFrom.number < PACE_BLOCKS;
  if (paceFrom === null || head.number < paceFrom.number) memory.paceFrom = head;
  if (paceFrom === null || (isNear && state.blockTimeMs !== null)) return state.blockTimeMs;
  if (!isNear) memory.paceFrom = head;
  return learnBlockTime(state.blockTimeMs, paceFrom, head);
}

function learnBlockTime(beforeMs: number | null, older: Header, newer: Header): number | null {
  const blocks = newer.number - older.number;
  if (blocks <= 0 || newer.timestampS <= older.timestampS) return beforeMs;
  const learnedMs = ((newer.timestampS - older.timestampS) / blocks) * 1_000;
  if (beforeMs === null) return Math.round(learnedMs);
  // One node with a wrong clock, or one long pause of the network, must not change the block time by much.
  return Math.round(beforeMs * 0.8 + Math.min(learnedMs, MAX_GROWTH * beforeMs) * 0.2);
}
