import { describe, expect, test } from 'bun:test';
import { type Comparison, compareFacts, inOrder } from '../../../src/chain/follow/compare.ts';
import { cutSteps } from '../../../src/chain/follow/steps.ts';
import type { FactChange, FactState, FoundFact, StoredFact } from '../../../src/domain/chain/facts.ts';
import { NO_VOTES } from '../../../src/domain/chain/witnesses.ts';

const at = (blockNumber: number, branch = 'a', logIndex = 0) => ({
  blockNumber,
  blockHash: `${branch}${blockNumber}`,
  logIndex,
});

const found = (factId: string, position = at(10), entityId = 'acme'): FoundFact => ({
  ...{ entityId, factId, networkId: 1, sourceId: 'src', kind: 'Transfer', isSilent: false, transactionHash: 'tx' },
  ...{ contract: 'c', position, transferId: null, agreementId: null, fields: {} },
});

const stored = (factId: string, state: FactState = 'seen', fact: Partial<StoredFact> = {}): StoredFact => ({
  ...{ entityId: 'acme', factId, sourceId: 'src', state, revision: 1, transactionHash: 'tx', position: at(10) },
  ...{ lostAtHead: null, isHeld: false, votes: NO_VOTES, isDisputed: false, ...fact },
});

function compare(comparison: Partial<Comparison>) {
  return compareFacts({
    ...{ found: [], stored: [], known: [], isGone: () => false, head: 20, final: null, isFollowed: () => true },
    ...comparison,
  });
}

const names = (changes: readonly FactChange[]) => changes.map(({ change }) => change);

describe('a fact that was found', () => {
  test.each([
    ['was not known', [], ['seen']],
    ['is where it was', [stored('f')], []],
    ['was in another block', [stored('f', 'seen', { position: at(9) })], ['moved']],
    ['was in another branch', [stored('f', 'seen', { position: at(10, 'b') })], ['moved']],
    ['was lost', [stored('f', 'lost')], ['moved']],
    ['was retracted', [stored('f', 'retracted')], ['again']],
    ['is final', [stored('f', 'final')], []],
    ['was final before the network was resumed', [stored('f', 'final', { position: at(10, 'b') })], ['lost', 'moved']],
    ['belongs to another entity', [stored('f', 'seen', { entityId: 'brand' })], ['seen']],
  ] as const)('and %p', (_, known, changes) => {
    expect(names(compare({ found: [found('f')], known }).changes)).toEqual([...changes]);
  });

  test('and stands at or below finality stays there', () => {
    for (const state of ['seen', 'final'] as const) {
      const known = [stored('f', state, { position: at(5) })];
      expect(compare({ found: [found('f')], known, final: 5 }).changes).toEqual([]);
    }
  });

  test('in the same block takes the place of the first of its equals', () => {
    const known = [stored('f', 'seen', { position: at(10, 'a', 4) })];
    expect(names(compare({ found: [found('f', at(10, 'a', 2))], known }).changes)).toEqual(['moved']);
    expect(names(compare({ found: [found('f', at(10, 'a', 6))], known }).changes)).toEqual([]);
  });
});

describe('a fact that was not found', () => {
  test('stands where its block does, and is an omission of the node', () => {
    expect(compare({ stored: [stored('f')] })).toEqual({ changes: [], omissions: 1, replacedFrom: null });
  });

  test('is lost where its block is gone', () => {
    const result = compare({ stored: [stored('f')], isGone: () => true });
    expect(result).toEqual({
      changes: [{ change: 'lost', entityId: 'acme', factId: 'f', lostAtHead: 20 }],
      omissions: 0,
      replacedFrom: 10,
    });
  });

  test('is never lost at or below finality', () => {
    expect(compare({ stored: [stored('f')], isGone: () => true, final: 10 }).changes).toEqual([]);
  });

  test('is no omission where no log tells of it, or its source is not followed', () => {
    expect(compare({ stored: [stored('f', 'seen', { isHeld: true })] }).omissions).toBe(0);
    expect(compare({ stored: [stored('f')], isFollowed: () => false }).omissions).toBe(0);
  });
});

test('what takes a fact away comes first, then the rest in the order of the chain', () => {
  const changes: FactChange[] = [
    { change: 'seen', fact: found('late', at(12)) },
    { change: 'seen', fact: found('second', at(10, 'a', 7)) },
    { change: 'retracted', entityId: 'acme', factId: 'gone' },
    { change: 'moved', entityId: 'acme', factId: 'first', position: at(10, 'a', 3) },
    { change: 'lost', entityId: 'acme', factId: 'lost', lostAtHead: 1 },
  ];
  const order = inOrder(changes).map((change) => (change.change === 'seen' ? change.fact.factId : change.factId));
  expect(order).toEqual(['gone', 'lost', 'first', 'second', 'late']);
});

describe('steps', () => {
  const seen = (block: number, count: number): FactChange[] =>
    Array.from({ length: count }, (_, index) => ({
      change: 'seen',
      fact: found(`${block}_${index}`, at(block, 'a', index)),
    }));
  const lost = (count: number): FactChange[] =>
    Array.from({ length: count }, (_, index) => ({
      change: 'lost',
      entityId: 'acme',
      factId: `${index}`,
      lostAtHead: 1,
    }));
  const cut = (changes: FactChange[]) =>
    cutSteps(changes, 10).map(({ changes: part, tip }) => [part.length, tip?.number ?? null]);

  test('end at a block', () => {
    expect(cut([...seen(1, 4), ...seen(2, 4), ...seen(3, 4), ...seen(4, 4)])).toEqual([
      [8, 2],
      [8, null],
    ]);
  });

  test('cut a block that is too large, and do not name it before its end', () => {
    expect(cut([...seen(1, 1), ...seen(2, 25), ...seen(3, 2)])).toEqual([
      [1, 1],
      [10, 1],
      [10, 1],
      [7, null],
    ]);
  });

  test('begin with what takes facts away, and name no block for it', () => {
    expect(cut([...lost(12), ...seen(5, 3)])).toEqual([
      [10, null],
      [5, null],
    ]);
  });

  test('are one where nothing changed', () => {
    expect(cut([])).toEqual([[0, null]]);
  });

  test('hold all changes in their order', () => {
    const changes = [...lost(3), ...seen(1, 9), ...seen(2, 30), ...seen(9, 1)];
    expect(cutSteps(changes, 10).flatMap((part) => part.changes)).toEqual(changes);
  });
});
