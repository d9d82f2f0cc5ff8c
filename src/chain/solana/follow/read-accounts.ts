import type { FactChange } from '../../../domain/chain/facts.ts';
import type { AccountProgress } from '../../../store/chain/network-store.ts';
import type { Node } from '../../rpc/node.ts';
import type { WatchedAccount } from '../rpc/calls.ts';
import { type Shown, type Walk, walkAccount } from './account-walk.ts';
import { accountsOf } from './accounts.ts';
import { fetchTransactions, type Listed, listAccounts } from './lists.ts';
import type { AccountList, AccountMemory } from './memory.ts';
import { placeTransactions } from './place.ts';
import { isAlone, POLL_MS, type SolanaPoll, voterOf } from './solana-poll.ts';

/**
 * Reads the transactions of accounts from one node. The cursor of an account moves to a finalized slot up to which the
 * transactions explain the balance. Two nodes must have listed the same transactions up to that slot. A lone node lists
 * them twice.
 */

const MAX_LISTS = 4;
/**
 * Equal readings after which Paybell accepts that a change of the balance has no transaction, as with the rewards of a
 * validator.
 */
const GAP_READINGS = 3;

export type AccountReading = {
  readonly changes: readonly FactChange[];
  readonly accounts: readonly AccountProgress[];
  /** Whether everything up to the head was read. */
  readonly isWhole: boolean;
  readonly gaps: number;
};

export type ReadOptions = {
  readonly shown: (account: string) => Shown | null;
  readonly minContextSlot: number | null;
  /** The slot that identifies a reading of a lone node. */
  readonly at: number;
};

export async function readAccounts(
  poll: SolanaPoll,
  node: Node,
  accounts: readonly WatchedAccount[],
  options: ReadOptions,
): Promise<AccountReading> {
  const { memory, clock } = poll.follow;
  const listed = await withoutFloods(poll, await listAccounts(poll, node, accounts, options.minContextSlot));
  let left = callsAPoll(poll, node);
  const oldestFirst = listed.flatMap(({ entries }) => entries).sort((a, b) => a.slot - b.slot);
  left -= await fetchTransactions(poll, node, oldestFirst, { most: left });
  const walks = new Map<Listed, Walk>();
  for (const each of listed) {
    let walk = walkOf(poll, each, options);
    // A reorg may have put a transaction into the same slot with other balances.
    if (walk.end === 'gap' && each.entries.length > 0 && left > 0) {
      left -= await fetchTransactions(poll, node, each.entries.toReversed(), { most: left, isAgain: true });
      walk = walkOf(poll, each, options);
    }
    walks.set(each, walk);
  }
  const transactions = [...walks.values()].flatMap((walk) => walk.transactions);
  const unique = [...new Map(transactions.map((each) => [each.signature, each])).values()];
  const placed = await placeTransactions(poll, node, unique);
  const moved: AccountProgress[] = [];
  let isWhole = listed.length === accounts.length;
  let gaps = 0;
  for (const [each, walk] of walks) {
    const account = memory.accountOf(each.watched.account);
    account.listedAtMs = clock.nowMs();
    const isPlaced = walk.transactions.every(({ signature }) => !placed.unplaced.has(signature));
    const progress = noteWalk(poll, node, { each, walk, isPlaced }, options);
    if (progress !== null) moved.push(progress);
    if (walk.end === 'gap') gaps++;
    if (account.known === null) isWhole = false;
  }
  return { changes: placed.changes, accounts: moved, isWhole, gaps };
}

/**
 * Limit on the calls for transactions in a poll: half of what the rate allows. The other half is for lists and for
 * finality.
 */
function callsAPoll({ follow }: SolanaPoll, node: Node): number {
  const paceMs = follow.options.pollMs ?? POLL_MS;
  return Math.max(10, Math.min(2_000, Math.floor((node.callsPerSecond * paceMs) / 2_000)));
}

async function withoutFloods(poll: SolanaPoll, listed: readonly Listed[]): Promise<Listed[]> {
  for (const { flood, watched } of listed) {
    if (flood === null) continue;
    const sources = poll.sources.filter((source) =>
      accountsOf(source).some(({ account }) => account === watched.account),
    );
    if (sources.length > 0) await poll.pause(sources, flood);
  }
  return listed.filter(({ flood }) => flood === null);
}

function walkOf({ follow }: SolanaPoll, { watched, cursor, entries }: Listed, { shown }: ReadOptions): Walk {
  // Without a balance from this node, the list is compared only with other lists.
  const balance = shown(watched.account) ?? { slot: -1, balance: -1n };
  return walkAccount(watched, cursor, entries, follow.memory.transactions, balance);
}

type Walked = { readonly each: Listed; readonly walk: Walk; readonly isPlaced: boolean };

/** Notes the result of a list, and returns the new cursor if it moves. */
function noteWalk(
  poll: SolanaPoll,
  node: Node,
  { each, walk, isPlaced }: Walked,
  { shown, at }: ReadOptions,
): AccountProgress | null {
  const { memory } = poll.follow;
  const { watched, cursor, entries } = each;
  const account = memory.accountOf(watched.account);
  const final = poll.state.final ?? -1;
  // The list of another node may lack transactions that the leader has listed. The cursor then waits for the next list.
  const newest = entries[0]?.slot ?? null;
  if (shown(watched.account) !== null || (newest ?? -1) > (account.newestSlot ?? -1)) account.newestSlot = newest;
  const isExplained = (walk.end === 'closed' || walk.end === 'newer') && isPlaced;
  if (shown(watched.account) !== null || !isPlaced) account.known = isExplained ? walk.balance : null;
  const voter = voterOf(poll, node.id, at);
  const before = account.lists.find((each) => each.voter === voter);
  const list: AccountList = {
    voter,
    final,
    digests: walk.digests,
    closings: isPlaced ? closingsOf(walk, before) : new Map(),
  };
  account.lists = [list, ...account.lists.filter(({ voter }) => voter !== list.voter)].slice(0, MAX_LISTS);
  if (walk.gap === null) {
    if (shown(watched.account) !== null) account.gap = null;
  } else if (isPlaced && shown(watched.account) !== null && noteGap(poll, node, account, walk.gap, at)) {
    return withoutGap(poll, each, walk.gap);
  }
  const moved = isPlaced ? movedCursor(cursor, account.lists, final, poll.lease.nowMs) : null;
  if (moved !== null) account.lists = [];
  return moved;
}

/**
 * Keeps the closings of an earlier list with the same transactions, because a list without a balance has no closing at
 * its end.
 */
function closingsOf({ closings, digests }: Walk, before: AccountList | undefined): AccountList['closings'] {
  const kept = [...(before?.closings ?? [])].filter(([slot]) => before?.digests.get(slot) === digests.get(slot));
  return new Map([...kept, ...closings]);
}

/**
 * The cursor at the newest finalized slot up to which two voters have listed the same transactions. The newest list
 * must be later than the finality of the slot.
 */
function movedCursor(
  cursor: AccountProgress,
  lists: readonly AccountList[],
  final: number,
  nowMs: number,
): AccountProgress | null {
  const [newest] = lists;
  const slots = [...(newest?.digests.keys() ?? [])].filter((slot) => slot <= final).sort((a, b) => b - a);
  for (const slot of slots) {
    const digest = newest?.digests.get(slot);
    const same = lists.filter(({ digests }) => digests.get(slot) === digest);
    const closing = same.flatMap(({ closings }) => closings.get(slot) ?? [])[0];
    if (same.length < 2 || closing === undefined) continue;
    return {
      ...cursor,
      cursorSlot: slot,
      cursorBalance: String(closing.balance),
      untilSignature: closing.before ?? cursor.untilSignature,
      lastSignature: closing.signature,
      sweptAtMs: nowMs,
    };
  }
  return null;
}

/** Returns whether the gap is real: enough readings have it, and it was first found at a slot that is final now. */
function noteGap(
  poll: SolanaPoll,
  node: Node,
  account: AccountMemory,
  gap: NonNullable<Walk['gap']>,
  at: number,
): boolean {
  const name = `${gap.slot} ${gap.balance} ${gap.next}`;
  if (account.gap?.name !== name) account.gap = { name, head: at, voters: new Set(), nodes: new Set() };
  account.gap.voters.add(`${node.id} ${at}`);
  account.gap.nodes.add(node.id);
  const nodes = isAlone(poll) ? 1 : Math.min(GAP_READINGS, poll.follow.witnesses.present.length);
  const isStable = account.gap.voters.size >= GAP_READINGS && account.gap.nodes.size >= nodes;
  return isStable && account.gap.head <= (poll.state.final ?? -1);
}

/** Continues after the gap with the balance that the account has there. */
function withoutGap(
  poll: SolanaPoll,
  { cursor, entries }: Listed,
  { slot, next }: NonNullable<Walk['gap']>,
): AccountProgress {
  const account = poll.follow.memory.accountOf(cursor.account);
  account.gap = null;
  account.lists = [];
  const at = entries.filter((entry) => entry.slot === slot)[0]?.signature ?? cursor.lastSignature;
  return {
    ...cursor,
    cursorSlot: slot,
    cursorBalance: String(next),
    untilSignature: cursor.lastSignature,
    lastSignature: at,
  };
}
