import type { BlockRef, FactChange } from '../../domain/chain/facts.ts';
import { MAX_STEP_CHANGES } from '../../store/chain/network-store.ts';
import { positionOf } from './compare.ts';

/** A part of a poll's changes. Its tip is the newest block that it completes; null if it completes no block. */
export type StepPart = { readonly changes: readonly FactChange[]; readonly tip: BlockRef | null };

/**
 * Cuts changes, in the order of their blocks, into steps. The tip rises only at the end of a block. If the process ends
 * between two steps, the next poll finds the rest of the block again. The last part has no tip, because the caller
 * knows the tip.
 */
export function cutSteps(changes: readonly FactChange[], most = MAX_STEP_CHANGES): StepPart[] {
  const parts: StepPart[] = [];
  let part: FactChange[] = [];
  let tip: BlockRef | null = null;
  const end = () => {
    if (part.length > 0) parts.push({ changes: part, tip });
    part = [];
  };
  for (const block of blocksOf(changes)) {
    if (part.length + block.changes.length > most) end();
    for (const change of block.changes) {
      if (part.length === most) end();
      part.push(change);
    }
    tip = block.at ?? tip;
  }
  parts.push({ changes: part, tip: null });
  return parts;
}

type Block = { readonly at: BlockRef | null; readonly changes: FactChange[] };

/** Groups changes by block. Changes without a position form a separate group. */
function blocksOf(changes: readonly FactChange[]): Block[] {
  const blocks: Block[] = [];
  for (const change of changes) {
    const position = positionOf(change);
    const last = blocks.at(-1);
    const number = position?.blockNumber ?? null;
    if (last !== undefined && (last.at?.number ?? null) === number) last.changes.push(change);
    else blocks.push({ at: position && { number: position.blockNumber, hash: position.blockHash }, changes: [change] });
  }
  return blocks;
}
