import type { AccountProgress } from '../../../store/chain/network-store.ts';
import { balancesAt, type Transaction } from '../decode/transaction.ts';
import type { ListedSignature, WatchedAccount } from '../rpc/calls.ts';
import type { Closing } from './memory.ts';

/**
 * Follows the balance of an account through its transactions. The balance after one transaction is the balance before
 * the next. The transactions of one slot may be listed in any order: one of them must continue the balance, and the
 * changes of all are added.
 */
export type Walk = {
  readonly closings: ReadonlyMap<number, Closing>;
  readonly digests: ReadonlyMap<number, string>;
  /** The transactions that could be read, including those after a gap. */
  readonly transactions: readonly Transaction[];
  /** The balance after the last transaction. */
  readonly balance: bigint;
  /**
   * | end        | meaning                                                                |
   * |------------|------------------------------------------------------------------------|
   * | `closed`   | the transactions explain the balance of the account                    |
   * | `newer`    | they explain each other, and the last ones are newer than the balance  |
   * | `unread`   | some transactions were not there                                       |
   * | `gap`      | a change of the balance has no transaction                             |
   */
  readonly end: 'closed' | 'newer' | 'unread' | 'gap';
  /** At a gap: the last slot and balance before it, and the account's balance after it. */
  readonly gap: { readonly slot: number; readonly balance: bigint; readonly next: bigint } | null;
};

export type Shown = { readonly slot: number; readonly balance: bigint };

/** `entries` are above the cursor, newest first, and `shown` is the balance of the account at a slot. */
export function walkAccount(
  { account, isNative }: WatchedAccount,
  cursor: AccountProgress,
  entries: readonly ListedSignature[],
  transactions: ReadonlyMap<string, Transaction>,
  shown: Shown,
): Walk {
  const slots = [...Map.groupBy(entries.toReversed(), ({ slot }) => slot)].sort(([a], [b]) => a - b);
  const closings = new Map<number, Closing>();
  const found: Transaction[] = [];
  let balance = BigInt(cursor.cursorBalance);
  let last: { slot: number; closing: Closing } | null = null;
  let signature = cursor.lastSignature;
  let isUnread = false;
  let gap: Walk['gap'] = null;
  for (const [slot, group] of slots) {
    const there = group.flatMap((entry) => atSlot(transactions.get(entry.signature), slot));
    found.push(...there);
    const changes = there.flatMap((transaction) => balancesAt(transaction, account, isNative) ?? []);
    if (there.length < group.length) isUnread = true;
    if (isUnread || gap !== null) continue;
    if (!changes.some(({ before }) => before === balance)) {
      gap = { slot: last?.slot ?? cursor.cursorSlot, balance, next: firstBalance(changes, balance) };
      continue;
    }
    // This slot begins with the balance at the end of the last slot, so it confirms that balance.
    if (last !== null) closings.set(last.slot, last.closing);
    balance = changes.reduce((sum, { before, after }) => sum + after - before, balance);
    const newest = group.at(-1)?.signature ?? '';
    last = { slot, closing: { balance, signature: newest, before: signature } };
    signature = newest;
  }
  const walk = { closings, digests: digestsOf(slots), transactions: found, balance };
  if (isUnread) return { ...walk, end: 'unread', gap: null };
  if (gap !== null) return { ...walk, end: 'gap', gap };
  if (balance === shown.balance) {
    if (last !== null) closings.set(last.slot, last.closing);
    return { ...walk, end: 'closed', gap: null };
  }
  const lastSlot = last?.slot ?? cursor.cursorSlot;
  if (lastSlot > shown.slot) return { ...walk, end: 'newer', gap: null };
  return { ...walk, end: 'gap', gap: { slot: lastSlot, balance, next: shown.balance } };
}

function atSlot(transaction: Transaction | undefined, slot: number): Transaction[] {
  return transaction?.slot === slot ? [transaction] : [];
}

type Change = { readonly before: bigint; readonly after: bigint };

/** The balance before the first of these transactions: no other of them ends with this balance. */
function firstBalance(changes: readonly Change[], fallback: bigint): bigint {
  const first = changes.find(({ before }) => !changes.some(({ after }) => after === before));
  return (first ?? changes[0])?.before ?? fallback;
}

/** For each slot, a digest of all transactions up to it. The order inside a slot does not matter. */
function digestsOf(slots: readonly (readonly [number, readonly ListedSignature[]])[]): Map<number, string> {
  const digests = new Map<number, string>();
  let before = '';
  for (const [slot, group] of slots) {
    const signatures = group.map((entry) => entry.signature).sort();
    before = Bun.SHA256.hash(`${before} ${slot} ${signatures.join(' ')}`, 'hex');
    digests.set(slot, before);
  }
  return digests;
}
