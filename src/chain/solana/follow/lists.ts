import type { AccountProgress } from '../../../store/chain/network-store.ts';
import { RpcFailure } from '../../rpc/failures.ts';
import type { Node } from '../../rpc/node.ts';
import {
  type ListedSignature,
  MAX_SIGNATURES,
  signaturesOf,
  transactionOf,
  UNKNOWN_SIGNATURE,
  type WatchedAccount,
} from '../rpc/calls.ts';
import type { SolanaPoll } from './solana-poll.ts';

/** Asks nodes for the transactions of accounts. A failed call affects only its own account. */

/** Limit on the pages of a list. A list without its end would hide payments, so Paybell does not use a longer one. */
const MAX_PAGES = 100;
/** More signatures in an hour are a flood, for which the source would need too many calls. */
const MAX_HOURLY = 5_000;
const HOUR_S = 3_600;
const FLOOD = `A wallet of the source had more than ${MAX_HOURLY} transactions in an hour.`;
const TOO_LONG = `A wallet of the source had more than ${MAX_PAGES * MAX_SIGNATURES} transactions since it was last read.`;

export type Listed = {
  readonly watched: WatchedAccount;
  readonly cursor: AccountProgress;
  /** Above the cursor, newest first. */
  readonly entries: readonly ListedSignature[];
  /** A sentence that says why the account has too many transactions; null if it does not. */
  readonly flood: string | null;
};

/** The transactions above the cursor of each account. Leaves out an account whose list failed. */
export async function listAccounts(
  poll: SolanaPoll,
  node: Node,
  accounts: readonly WatchedAccount[],
  minContextSlot: number | null,
): Promise<Listed[]> {
  const { progress } = poll.follow.memory;
  const asked = accounts.flatMap((watched) => {
    const cursor = progress?.get(watched.account);
    if (cursor === undefined) return [];
    return [{ watched, cursor, call: signaturesOf(watched.account, { until: cursor.untilSignature, minContextSlot }) }];
  });
  if (asked.length === 0) return [];
  const outcomes = await node.send(
    asked.map(({ call }) => call),
    'logs',
  );
  const listed: Listed[] = [];
  for (const { watched, cursor, call } of asked) {
    const failure = outcomes.failure(call);
    const isUnknown = failure?.code === UNKNOWN_SIGNATURE;
    if (failure !== null && !isUnknown) continue;
    const first = isUnknown ? null : outcomes.value(call);
    const pages = await readPages(node, { account: watched.account, cursor, minContextSlot, first });
    if (pages === null) continue;
    const { entries, hasEnd } = pages;
    // A failed transaction moves no tokens. The only SOL that it moves is the sender's fee.
    const counted = watched.isNative ? entries : entries.filter(({ isFailed }) => !isFailed);
    const flood = hasEnd ? null : TOO_LONG;
    listed.push({ watched, cursor, entries: counted, flood: isFlood(entries) ? FLOOD : flood });
  }
  return listed;
}

type Paging = {
  readonly account: string;
  readonly cursor: AccountProgress;
  readonly minContextSlot: number | null;
  /**
   * Null if the node does not know the signature at which the list must end. The slot of the cursor then ends the list.
   */
  readonly first: ListedSignature[] | null;
};

type Pages = { readonly entries: ListedSignature[]; readonly hasEnd: boolean };

/** Null if a page failed, because a list without a page is useless. */
async function readPages(node: Node, { account, cursor, minContextSlot, first }: Paging): Promise<Pages | null> {
  const until = first === null ? null : cursor.untilSignature;
  const entries: ListedSignature[] = [];
  let page = first;
  let before: string | null = null;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    if (page === null) {
      const call = signaturesOf(account, { until, before, minContextSlot });
      try {
        page = (await node.send([call], 'logs')).valueOrNull(call);
      } catch (error) {
        if (!(error instanceof RpcFailure)) throw error;
      }
      if (page === null) return null;
    }
    entries.push(...page.filter(({ slot }) => slot > cursor.cursorSlot));
    const last = page.at(-1);
    if (last === undefined || page.length < MAX_SIGNATURES || last.slot <= cursor.cursorSlot) {
      return { entries, hasEnd: true };
    }
    before = last.signature;
    page = null;
  }
  return { entries, hasEnd: false };
}

function isFlood(entries: readonly ListedSignature[]): boolean {
  const [newest, past] = [entries[0]?.blockS ?? null, entries[MAX_HOURLY]?.blockS ?? null];
  return newest !== null && past !== null && newest - past < HOUR_S;
}

/**
 * Fetches up to `most` transactions that are not in memory, in the given order. With `isAgain`, also fetches those in
 * memory. Returns the number of calls.
 */
export async function fetchTransactions(
  poll: SolanaPoll,
  node: Node,
  wanted: readonly ListedSignature[],
  { most, isAgain = false }: { readonly most: number; readonly isAgain?: boolean },
): Promise<number> {
  const { transactions } = poll.follow.memory;
  const missing = new Map(
    wanted
      .filter(({ signature, slot }) => isAgain || transactions.get(signature)?.slot !== slot)
      .map(({ signature }) => [signature, transactionOf(signature)]),
  );
  const calls = [...missing.values()].slice(0, Math.max(0, most));
  if (calls.length === 0) return 0;
  try {
    const outcomes = await node.send(calls, 'logs');
    for (const call of calls) {
      const transaction = outcomes.valueOrNull(call);
      if (transaction !== null) transactions.set(transaction.signature, transaction);
    }
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
  }
  return calls.length;
}
