import type { BlockRef } from '../../../domain/chain/facts.ts';
import { MAX_ANCHORS, type NetworkState } from '../../../store/chain/network-store.ts';

/** How many blocks of the tail are read again by each poll, at least: logs that were left out once come with a later poll. */
export const TAIL_BLOCKS = 6;
/** A follower that is so far behind reads on from its tip, and not the tail again. */
const FAR_BEHIND_BLOCKS = 2 * TAIL_BLOCKS;
/** An anchor is so much further from its neighbour as it is older: every block near the tip, and few in the past. */
const SPACING = 24;

export type AnchorChoice = {
  readonly rangeBlocks: number;
  /** The head of a node that was behind, so that it is asked for a block that it has; null where none was behind. */
  readonly highest: number | null;
};

/** The block at which a node has to agree before its logs are read from there on. Null before the first block was read. */
export function chooseAnchor(state: NetworkState, { rangeBlocks, highest }: AnchorChoice): BlockRef | null {
  const { tip, anchors, head, final } = state;
  if (tip === null) return null;
  if (highest === null && head !== null && head - tip.number >= FAR_BEHIND_BLOCKS) return tip;
  const most = Math.min(tip.number - TAIL_BLOCKS, highest ?? tip.number);
  const isChoice = ({ number }: BlockRef) => number <= most || (final !== null && number <= final);
  const anchor = anchors.find(isChoice) ?? anchors.at(-1) ?? tip;
  // Otherwise the blocks that one call can read would end before the tip, again and again.
  return highest === null && anchor.number + rangeBlocks <= tip.number ? tip : anchor;
}

/** The newest anchor that cannot be undone: a node that disagrees here is on another chain. */
export function floorIndex(anchors: readonly BlockRef[], final: number | null): number {
  const index = final === null ? -1 : anchors.findIndex(({ number }) => number <= final);
  return index === -1 ? anchors.length - 1 : index;
}

type NewAnchors = {
  readonly kept: readonly BlockRef[];
  /** They replace a kept one of the same number. */
  readonly added: readonly BlockRef[];
  readonly final: number | null;
  /** Blocks that are to become final are kept however near their neighbours are. */
  readonly pinned: readonly (BlockRef | null | undefined)[];
};

/** Newest first. The newest one at or below finality stays, and none below it. */
export function arrangeAnchors({ kept, added, final, pinned }: NewAnchors): BlockRef[] {
  const byNumber = new Map([...kept, ...added].map((anchor) => [anchor.number, anchor]));
  const sorted = [...byNumber.values()].sort((a, b) => b.number - a.number);
  const floor = sorted[floorIndex(sorted, final)];
  const [tip] = sorted;
  const pins = new Set(pinned.flatMap((block) => block?.number ?? []));
  const chosen: BlockRef[] = [];
  for (const anchor of sorted) {
    const last = chosen.at(-1);
    if (tip === undefined || last === undefined) chosen.push(anchor);
    else if (anchor === floor || pins.has(anchor.number)) chosen.push(anchor);
    else if (last.number - anchor.number >= (tip.number - anchor.number) / SPACING) chosen.push(anchor);
    if (anchor === floor) break;
  }
  return chosen.length <= MAX_ANCHORS ? chosen : [...chosen.slice(0, MAX_ANCHORS - 1), ...chosen.slice(-1)];
}
