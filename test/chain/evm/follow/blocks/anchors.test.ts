import { describe, expect, test } from 'bun:test';
import { arrangeAnchors, chooseAnchor, floorIndex } from '../../../../../src/chain/evm/follow/blocks/anchors.ts';
import type { BlockRef } from '../../../../../src/domain/chain/facts.ts';
import { MAX_ANCHORS, type NetworkState } from '../../../../../src/store/chain/network-store.ts';
import { PLAIN_STATE } from '../../../../support/chain/steps.ts';

const block = (number: number): BlockRef => ({ number, hash: `0x${number}` });
const blocks = (...numbers: number[]): BlockRef[] => numbers.map(block);
const down = (from: number, to: number): number[] => Array.from({ length: from - to + 1 }, (_, index) => from - index);

function stateWith(numbers: readonly number[], state: Partial<NetworkState> = {}): NetworkState {
  const anchors = numbers.map(block);
  return {
    tip: anchors[0] ?? null,
    anchors,
    head: anchors[0]?.number ?? null,
    ...{ safe: null, final: null, rangeBlocks: null, blockTimeMs: null, haltedAtMs: null, haltedReason: null },
    ...PLAIN_STATE,
    ...state,
  };
}

describe('the anchor of a poll', () => {
  const choose = (state: NetworkState, rangeBlocks = 1_000, highest: number | null = null) =>
    chooseAnchor(state, { rangeBlocks, highest, isTail: true })?.number ?? null;

  test('is the newest one at least six below the tip', () => {
    expect(choose(stateWith(down(100, 80)))).toBe(94);
    expect(choose(stateWith([100, 97, 91, 90]))).toBe(91);
  });

  test('is the oldest one where none is so far below', () => {
    expect(choose(stateWith([100, 98]))).toBe(98);
  });

  test('is none before the first block', () => {
    expect(choose(stateWith([]))).toBeNull();
  });

  test('is not below finality', () => {
    expect(choose(stateWith(down(100, 80), { final: 97 }))).toBe(97);
    expect(choose(stateWith([100, 96, 80], { final: 98 }))).toBe(96);
  });

  test('is the tip where the follower is far behind', () => {
    expect(choose(stateWith(down(100, 80), { head: 111 }))).toBe(94);
    expect(choose(stateWith(down(100, 80), { head: 112 }))).toBe(100);
  });

  test('is the tip where the blocks of one call would end before it', () => {
    expect(choose(stateWith([100, 50]), 50)).toBe(100);
    expect(choose(stateWith([100, 50]), 51)).toBe(50);
  });

  test('is one that a node that is behind has', () => {
    expect(choose(stateWith(down(100, 80)), 1_000, 90)).toBe(90);
  });
});

describe('anchors after a poll', () => {
  const arrange = (numbers: readonly number[], options: { final?: number; pinned?: number[] } = {}) =>
    arrangeAnchors({
      kept: numbers.map(block),
      added: [],
      final: options.final ?? null,
      pinned: (options.pinned ?? []).map(block),
    }).map(({ number }) => number);

  test('are sorted, and an added one replaces a kept one', () => {
    const added = [{ number: 8, hash: 'new' }, block(10)];
    const arranged = arrangeAnchors({ kept: blocks(9, 8, 7), added, final: null, pinned: [] });
    expect(arranged.map(({ number, hash }) => `${number} ${hash}`)).toEqual(['10 0x10', '9 0x9', '8 new', '7 0x7']);
  });

  test('are every block near the tip and fewer in the past', () => {
    const arranged = arrange(down(10_000, 1));
    expect(arranged.slice(0, 24)).toEqual(down(10_000, 9_977));
    expect(arranged.at(-1)).toBeLessThan(500);
    expect(arranged.length).toBeLessThan(200);
  });

  test('stay in place as the chain grows by a block at a time, so that some are left at every depth', () => {
    let anchors: BlockRef[] = blocks(0);
    for (let head = 1; head <= 1_000; head++) {
      anchors = arrangeAnchors({ kept: anchors, added: [block(head)], final: 0, pinned: [] });
    }
    const between = (from: number, to: number) => anchors.filter(({ number }) => number >= from && number < to).length;
    expect([between(900, 950), between(700, 800), between(300, 500)].every((count) => count >= 5)).toBe(true);
  });

  test('never have a gap of more than a twelfth of their age, as the chain grows by a block at a time', () => {
    let anchors: BlockRef[] = blocks(0);
    for (let head = 1; head <= 20_000; head++) {
      anchors = arrangeAnchors({ kept: anchors, added: [block(head)], final: 0, pinned: [] });
    }
    expect(anchors.length).toBeLessThanOrEqual(MAX_ANCHORS);
    for (const [index, { number }] of anchors.entries()) {
      const newer = anchors[index - 1]?.number ?? number;
      if (number > 0) expect(newer - number).toBeLessThanOrEqual(Math.max(1, (20_000 - number) / 12));
    }
  });

  test('end with the newest one at or below finality', () => {
    expect(arrange([100, 99, 95, 90, 80], { final: 92 })).toEqual([100, 99, 95, 90]);
    expect(arrange([100, 99, 95, 90, 80], { final: 95 })).toEqual([100, 99, 95]);
  });

  test('keep what is to become final, however near its neighbours are', () => {
    expect(arrange([10_000, 5_000, 4_999, 4_998])).toEqual([10_000, 4_998]);
    expect(arrange([10_000, 5_000, 4_999, 4_998], { pinned: [4_999] })).toEqual([10_000, 4_999, 4_998]);
  });

  test('are no more than the store takes, the oldest among them', () => {
    const arranged = arrange(down(3_000, 1), { pinned: down(3_000, 1), final: 1 });
    expect(arranged).toHaveLength(MAX_ANCHORS);
    expect(arranged.at(-1)).toBe(1);
  });
});

test('the floor is the newest anchor at or below finality, or the oldest', () => {
  expect(floorIndex(blocks(10, 8, 6), 9)).toBe(1);
  expect(floorIndex(blocks(10, 8, 6), 5)).toBe(2);
  expect(floorIndex(blocks(10, 8, 6), null)).toBe(2);
});
