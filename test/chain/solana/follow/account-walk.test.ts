import { expect, test } from 'bun:test';
import type { Transaction } from '../../../../src/chain/solana/decode/transaction.ts';
import { walkAccount } from '../../../../src/chain/solana/follow/account-walk.ts';

const ACCOUNT = 'account';
const cursor = {
  ...{
    account: ACCOUNT,
    ...{ wallet: 'wallet', contract: 'native' },
    cursorSlot: 10,
    cursorBalance: '100',
    untilSignature: null,
    lastSignature: 's10',
    sweptAtMs: 0,
  },
};

type Step = readonly [signature: string, slot: number, before: bigint, after: bigint];

/** Walks through these transactions, oldest first, of an account that has `balance` in slot 99. */
function walk(steps: readonly Step[], balance: bigint, there = steps) {
  const entries = steps.map(([signature, slot]) => ({ signature, slot, isFailed: false, blockS: null })).toReversed();
  const transactions = there.map(([signature, slot, before, after]): [string, Transaction] => [
    signature,
    {
      ...{ signature, slot, blockS: null, isFailed: false, fee: 0n, keys: [ACCOUNT], signers: 1 },
      ...{
        lamportsBefore: [before],
        lamportsAfter: [after],
        tokensBefore: [],
        tokensAfter: [],
        memos: [],
        references: [],
      },
    },
  ]);
  const watched = { account: ACCOUNT, isNative: true };
  return walkAccount(watched, cursor, entries, new Map(transactions), { slot: 99, balance });
}

test('transactions that explain the balance close every slot', () => {
  const { end, closings } = walk(
    [
      ['a', 11, 100n, 105n],
      ['b', 12, 105n, 103n],
    ],
    103n,
  );
  expect(end).toBe('closed');
  expect([...closings].map(([slot, { balance }]) => [slot, balance])).toEqual([
    [11, 105n],
    [12, 103n],
  ]);
});

test('transactions of one slot may come in any order', () => {
  expect(
    walk(
      [
        ['b', 11, 105n, 109n],
        ['a', 11, 100n, 105n],
      ],
      109n,
    ).end,
  ).toBe('closed');
});

test('a transaction that is left out makes a gap, and closes no slot from there on', () => {
  const { end, closings, gap } = walk(
    [
      ['a', 11, 100n, 105n],
      ['c', 13, 108n, 109n],
    ],
    109n,
  );
  expect(end).toBe('gap');
  expect(closings.size).toBe(0);
  expect(gap).toEqual({ slot: 11, balance: 105n, next: 108n });
});

test('a transaction that is left out at the end makes a gap', () => {
  expect(walk([['a', 11, 100n, 105n]], 108n)).toMatchObject({ end: 'gap', gap: { slot: 11, next: 108n } });
});

test('transactions that are newer than the balance explain each other', () => {
  expect(walk([['a', 100, 100n, 105n]], 100n).end).toBe('newer');
});

test('a transaction that the node does not show leaves the account unread', () => {
  const steps = [
    ['a', 11, 100n, 105n],
    ['b', 12, 105n, 106n],
  ] as const;
  expect(walk(steps, 106n, steps.slice(0, 1)).end).toBe('unread');
});
