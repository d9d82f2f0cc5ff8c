import type { BlockRef } from '../../../../domain/chain/facts.ts';
import { MAX_ANCHORS, type NetworkState } from '../../../../store/chain/network-store.ts';

/** Number of newest blocks that polls read again. If a node has left out a log, a later poll finds it there. */
export const TAIL_BLOCKS = 6;
/** A follower that is this far behind continues from its tip, and does not read the tail again. */
const FAR_BEHIND_BLOCKS = 2 * TAIL_BLOCKS;
/**
 * Every block within this distance of the tip is an anchor. At twice the distance, every second block is one, and so
 * on.
 */
const DENSE_BLOCKS = 24;

export type AnchorChoice = {
  readonly rangeBlocks: number;
  /** Whether the tail is read again, and not only the blocks after the tip. */
  readonly isTail: boolean;
  /**
   * The head of a node that was behind, so that the node is asked for a block that it has; null if no node was behind.
   */
  readonly highest: number | null;
};

/**
 * The block that a node must have too before Paybell reads the logs above it from this node. Null before the first
 * block was read.
 */
export function chooseAnchor(state: NetworkState, { rangeBlocks, highest, isTail }: AnchorChoice): BlockRef | null {
  const { tip, anchors, head, final } = state;
  if (tip === null || (highest === null && !isTail)) return tip;
  if (highest === null && head !== null && head - tip.number >= FAR_BEHIND_BLOCKS) return tip;
  const most = Math.min(tip.number - TAIL_BLOCKS, highest ?? tip.number);
  const isChoice = ({ number }: BlockRef) => number <= most || (final !== null && number <= final);
  const anchor = anchors.find(isChoice) ?? anchors.at(-1) ?? tip;
  // One call from an older anchor would end before the tip, so that no poll would ever pass the tip.
  return highest === null && anchor.number + rangeBlocks <= tip.number ? tip : anchor;
}

/**
 * The index of the newest final anchor, or of the oldest anchor if none is final. A node that disagrees here is on
 * another chain.
 */
export function floorIndex(anchors: readonly BlockRef[], final: number | null): number {
  const index = final === null ? -1 : anchors.findIndex(({ number }) => number <= final);
  return index === -1 ? anchors.length - 1 : index;
}

type NewAnchors = {
  readonly kept: readonly BlockRef[];
  /** New anchors, which replace a kept anchor of the same number. */
  readonly added: readonly BlockRef[];
  readonly final: number | null;
  /** Blocks that will become final. They stay, even if another anchor is near. */
  readonly pinned: readonly (BlockRef | null | undefined)[];
};

/**
 * Whether the next older anchor is in another group of blocks. Groups are twice as large at twice the distance. Their
 * limits do not move with the tip, so a kept anchor stays until its group joins another one.
 */
function isOldestOf({ number }: BlockRef, older: BlockRef | undefined, tip: BlockRef): boolean {
  const distance = Math.max(1, (tip.number - number) / DENSE_BLOCKS);
  const size = 2 ** Math.ceil(Math.log2(distance));
  return older === undefined || Math.floor(older.number / size) !== Math.floor(number / size);
}

/** Returns the anchors to keep, newest first. The last one is the newest anchor at or below finality. */
export function arrangeAnchors({ kept, added, final, pinned }: NewAnchors): BlockRef[] {
  const byNumber = new Map([...kept, ...added].map((anchor) => [anchor.number, anchor]));
  const sorted = [...byNumber.values()].sort((a, b) => b.number - a.number);
  const floor = sorted[floorIndex(sorted, final)];
  const [tip] = sorted;
  const pins = new Set(pinned.flatMap((block) => block?.number ?? []));
  const chosen: BlockRef[] = [];
  for (const [index, anchor] of sorted.entries()) {
    const last = chosen.at(-1);
    if (tip === undefined || last === undefined) chosen.push(anchor);
    else if (anchor === floor || pins.has(anchor.number) || isOldestOf(anchor, sorted[index + 1], tip)) {
      chosen.push(anchor);
    }
    if (anchor === floor) break;
  }
  return chosen.length <= MAX_ANCHORS ? chosen : [...chosen.slice(0, MAX_ANCHORS - 1), ...chosen.slice(-1)];
}
