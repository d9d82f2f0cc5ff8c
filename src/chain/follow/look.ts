import type { BlockRef } from '../../domain/chain/facts.ts';
import { blockAt, type Call, taggedBlock } from '../rpc/calls.ts';
import { BEHIND_LIMIT, type Node } from '../rpc/node.ts';
import type { Header } from '../rpc/types.ts';
import { chooseAnchor, floorIndex } from './blocks/anchors.ts';
import { garbageFrom, InDoubt, retryInDoubt } from './blocks/doubt.ts';
import type { Poll } from './poll.ts';

/** What a node says about where the network stands. */
export type Look = {
  readonly head: Header;
  /** Null where the node did not say. */
  readonly finalized: Header | null;
  readonly safe: Header | null;
  /** The newest stored block that is known to be the node's too; null before the first block was read. */
  readonly agreed: BlockRef | null;
  /** Whether a newer stored block was replaced. */
  readonly isFork: boolean;
  readonly blockTimeMs: number | null;
  /** Blocks of the node that are known from looking for the one that agrees, by number. */
  readonly hashes: ReadonlyMap<number, string>;
};

export type LookResult =
  | { readonly kind: 'look'; readonly look: Look }
  /** The node has not got the tip yet. */
  | { readonly kind: 'behind'; readonly head: number }
  /** The node has none of the stored blocks above finality, and another one at it. */
  | { readonly kind: 'conflict' };

/** How far back each batch goes, in anchors from the one that disagreed. */
const STEPS_BACK = [
  [1, 3, 7],
  [15, 31, 63],
  [127, 255],
];

/** The first request of a poll. */
export async function lookAt(poll: Poll, node: Node): Promise<LookResult> {
  const { memory } = poll.follow;
  const { tip } = poll.state;
  const state = { ...poll.state, head: memory.head ?? poll.state.head };
  const anchor = chooseAnchor(state, { rangeBlocks: node.logRange.cap(memory.range.blocks), highest: memory.lowHead });
  const [latest, finalized, safe] = [taggedBlock('latest'), taggedBlock('finalized'), taggedBlock('safe')];
  const atAnchor = anchor === null ? null : blockAt(anchor.number);
  const outcomes = await node.send([latest, finalized, safe, ...(atAnchor === null ? [] : [atAnchor])]);
  const head = outcomes.value(latest);
  if (head === null) throw garbageFrom(node);
  // A node without a tag has an error, null or an empty hash for it, which is no news.
  const tags = { finalized: outcomes.valueOrNull(finalized), safe: outcomes.valueOrNull(safe) };
  const hashes = new Map([[head.number, head.hash]]);
  const look = { head, ...tags, agreed: anchor, isFork: false, blockTimeMs: poll.state.blockTimeMs, hashes };
  if (anchor === null || atAnchor === null || tip === null) return { kind: 'look', look };
  const header = outcomes.value(atAnchor);
  if (header === null) {
    if (head.number >= anchor.number) throw garbageFrom(node);
    return behind(poll, head);
  }
  hashes.set(header.number, header.hash);
  const blockTimeMs = learnBlockTime(poll.state.blockTimeMs, header, head);
  if (header.hash === anchor.hash) {
    memory.shortForks = 0;
    return head.number < tip.number ? behind(poll, head) : { kind: 'look', look: { ...look, blockTimeMs } };
  }
  // A node that is behind may also still be on a branch that was left: only one that stays there is followed back.
  if (head.number < tip.number && ++memory.shortForks < BEHIND_LIMIT) return behind(poll, head);
  const agreed = await walkBack(poll, node, anchor, head, hashes);
  if (agreed === null) return { kind: 'conflict' };
  return { kind: 'look', look: { ...look, agreed, isFork: true, blockTimeMs } };
}

function behind(poll: Poll, head: Header): LookResult {
  poll.follow.memory.lowHead = head.number;
  return { kind: 'behind', head: head.number };
}

/** The newest anchor of a few that the node has too; null where it has another block at finality. */
async function walkBack(
  poll: Poll,
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

/** Those of the blocks that the node has, as it has them. */
async function blocksAt(node: Node, blocks: readonly BlockRef[], head: Header): Promise<Header[]> {
  if (blocks.length === 0) return [];
  const calls = blocks.map(({ number }) => blockAt(number));
  const atHead = blockAt(head.number);
  const outcomes = await node.send([atHead, ...calls.map((call): Call<unknown> => call)]);
  if (outcomes.value(atHead)?.hash !== head.hash) throw new InDoubt();
  return calls.flatMap((call) => outcomes.value(call) ?? []);
}

function learnBlockTime(beforeMs: number | null, older: Header, newer: Header): number | null {
  const blocks = newer.number - older.number;
  if (blocks <= 0 || newer.timestampS <= older.timestampS) return beforeMs;
  const learnedMs = ((newer.timestampS - older.timestampS) / blocks) * 1_000;
  return Math.round(beforeMs === null ? learnedMs : beforeMs * 0.8 + learnedMs * 0.2);
}
