import type { FactChange } from '../../../domain/chain/facts.ts';
import type { AccountProgress, Step } from '../../../store/chain/network-store.ts';
import { positionOf } from '../../follow/compare.ts';
import type { Header } from '../../follow/header.ts';
import type { ReadResult } from '../../follow/reader.ts';
import { cutSteps } from '../../follow/steps.ts';
import { RpcFailure } from '../../rpc/failures.ts';
import type { Node } from '../../rpc/node.ts';
import { balancesOf, MAX_ACCOUNTS, NODE_IS_BEHIND, slotOf, type WatchedAccount } from '../rpc/calls.ts';
import type { Shown } from './account-walk.ts';
import { commit, joinSources, loadProgress, watchedAccounts } from './accounts.ts';
import { type AccountReading, readAccounts } from './read-accounts.ts';
import { leastSlot, SLOT_MS, type SolanaPoll, waitsForFinal } from './solana-poll.ts';

/** Reads the balances of all accounts in each poll, and the transactions of accounts whose balance is not explained. */

/** A balance that rises and falls between two polls looks unchanged. So every account is listed at least this often. */
const SWEEP_MS = 3_600_000;
/** Limit on the sweeps of one poll, to spread the calls of many accounts. */
const SWEEPS_A_POLL = 10;
/** How often a poll without news is stored, to show that the network is followed. */
const QUIET_COMMIT_MS = 5_000;
const BEHIND_BEFORE_NEXT_NODE = 3;

type Look = { readonly head: number; readonly shown: ReadonlyMap<string, Shown> };

export async function followLive(poll: SolanaPoll, node: Node, withTags: boolean): Promise<ReadResult> {
  const { memory } = poll.follow;
  const watched = watchedAccounts(poll);
  const look = await lookAt(poll, node, watched, withTags || waitsForFinal(poll));
  if (look === null) return behind(poll, node);
  memory.behind = 0;
  noteHead(poll, look.head);
  await join(poll, node, watched);
  const due = dueAccounts(poll, watched, look);
  const options = {
    shown: (account: string) => look.shown.get(account) ?? null,
    minContextSlot: look.head,
    at: look.head,
  };
  const reading = due.length === 0 ? NOTHING : await readUnlessFailing(poll, node, due, options);
  poll.omissions += reading.gaps;
  const sweeps = sweptProgress(poll, due, reading);
  const isQuiet = reading.changes.length + reading.accounts.length + sweeps.length === 0 && poll.state.tip !== null;
  if (!isQuiet || isCommitDue(poll)) {
    await write(poll, look.head, reading.changes, {
      accounts: [...sweeps, ...reading.accounts],
      // The tip stays below payments that are not read yet.
      ...(reading.isWhole || poll.state.tip === null ? tipAt(poll, look.head) : {}),
      // After a whole reading, all payments up to finality were read. Finality may rise past payments that a node does
      // not show.
      ...(reading.isWhole && { readFinal: poll.state.final }),
    });
  }
  if (reading.gaps > 0 || !reading.isWhole) leadNext(poll, node);
  memory.doubts = 0;
  return { kind: 'followed' };
}

const NOTHING: AccountReading = { changes: [], accounts: [], isWhole: true, gaps: 0 };

/** If the node fails after it has shown the balances, the next poll lists the accounts. */
async function readUnlessFailing(...args: Parameters<typeof readAccounts>): Promise<AccountReading> {
  const [poll, , due] = args;
  try {
    return await readAccounts(...args);
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    for (const { account } of due) poll.follow.memory.accountOf(account).known = null;
    return { ...NOTHING, isWhole: false };
  }
}

/** Null if the node is behind the head of an earlier poll. */
async function lookAt(
  poll: SolanaPoll,
  node: Node,
  watched: readonly WatchedAccount[],
  withTags: boolean,
): Promise<Look | null> {
  const least = leastSlot(poll);
  const chunks: WatchedAccount[][] = [];
  for (let at = 0; at < watched.length; at += MAX_ACCOUNTS) chunks.push(watched.slice(at, at + MAX_ACCOUNTS));
  const balances = chunks.map((chunk) => ({ chunk, call: balancesOf(chunk, 'confirmed', least) }));
  const finalized = slotOf('finalized');
  const confirmed = slotOf('confirmed');
  const calls = [
    ...balances.map(({ call }) => call),
    ...(balances.length === 0 ? [confirmed] : []),
    ...(withTags ? [finalized] : []),
  ];
  const outcomes = await node.send(calls, 'head');
  if (balances.some(({ call }) => outcomes.failure(call)?.code === NODE_IS_BEHIND)) return null;
  const shown = new Map<string, Shown>();
  let head = balances.length === 0 ? outcomes.value(confirmed) : Number.POSITIVE_INFINITY;
  for (const { chunk, call } of balances) {
    const { slot, balances: found } = outcomes.value(call);
    head = Math.min(head, slot);
    for (const [place, { account }] of chunk.entries()) shown.set(account, { slot, balance: found[place] ?? 0n });
  }
  if (head < (least ?? 0)) return null;
  noteNode(poll, node, head, withTags ? outcomes.valueOrNull(finalized) : undefined);
  return { head, shown };
}

/** A header for a node's slot, dated with the current time, because the real timestamp would cost a call. */
export function headerAt({ lease }: SolanaPoll, slot: number): Header {
  return { number: slot, hash: String(slot), parentHash: null, timestampS: Math.floor(lease.nowMs / 1000) };
}

/** `finalized` is null if the node did not report it, and undefined if it was not asked. */
export function noteNode(poll: SolanaPoll, node: Node, head: number, finalized: number | null | undefined): void {
  const { witnesses } = poll.follow;
  const header = headerAt(poll, head);
  const known = witnesses.of(node).head;
  // A head that stays the same keeps its time.
  const noted = known !== null && known.number === head ? known : header;
  witnesses.noteHead(node, noted);
  if (finalized === undefined) return;
  const claimed = finalized === null ? null : { ...header, number: finalized, hash: String(finalized) };
  witnesses.noteTags(node, noted, { finalized: claimed, safe: null });
}

function noteHead(poll: SolanaPoll, head: number): void {
  const { memory } = poll.follow;
  if (head === memory.head) return;
  memory.head = head;
  memory.headS = Math.floor(poll.lease.nowMs / 1000);
}

function behind(poll: SolanaPoll, node: Node): ReadResult {
  const { memory } = poll.follow;
  if (++memory.behind % BEHIND_BEFORE_NEXT_NODE === 0) leadNext(poll, node);
  return { kind: 'behind' };
}

function leadNext({ follow: { nodes, witnesses, memory } }: SolanaPoll, node: Node): void {
  const others = nodes.others(node);
  const next = others[memory.turn++ % Math.max(1, others.length)];
  if (next !== undefined) witnesses.lead(next);
}

async function join(poll: SolanaPoll, node: Node, watched: ReturnType<typeof watchedAccounts>): Promise<void> {
  const joining = await joinSources(poll, node, watched);
  const { accounts, droppedAccounts, backfilled } = joining;
  if (accounts.length + droppedAccounts.length + backfilled.length === 0) return;
  await commit(poll, { ...levels(poll), ...joining });
}

function levels({ state, follow: { memory } }: SolanaPoll): Partial<Step> {
  const head = memory.head ?? state.head ?? 0;
  return { head, headS: memory.headS, blockTimeMs: SLOT_MS };
}

function tipAt({ follow }: SolanaPoll, head: number): Partial<Step> {
  return { tip: { number: head, hash: String(head) }, tipS: follow.memory.headS };
}

/** Accounts whose balance is not explained, and some accounts that were not listed for an hour. */
function dueAccounts(poll: SolanaPoll, watched: readonly WatchedAccount[], { shown }: Look): WatchedAccount[] {
  const { memory, clock } = poll.follow;
  const nowMs = clock.nowMs();
  const unexplained: WatchedAccount[] = [];
  const stale: WatchedAccount[] = [];
  for (const each of watched) {
    const { known, listedAtMs } = memory.accountOf(each.account);
    if (known === null || known !== shown.get(each.account)?.balance) unexplained.push(each);
    else if (nowMs - listedAtMs >= SWEEP_MS) stale.push(each);
  }
  return [...unexplained, ...stale.slice(0, SWEEPS_A_POLL)];
}

/** The progress of swept accounts whose cursor stays, with the time of the sweep. */
function sweptProgress(poll: SolanaPoll, due: readonly WatchedAccount[], reading: AccountReading): AccountProgress[] {
  const moved = new Set(reading.accounts.map(({ account }) => account));
  const { memory } = poll.follow;
  return due.flatMap(({ account }) => {
    const progress = memory.progress?.get(account);
    if (progress === undefined || moved.has(account) || memory.accountOf(account).known === null) return [];
    return poll.lease.nowMs - progress.sweptAtMs < SWEEP_MS ? [] : [{ ...progress, sweptAtMs: poll.lease.nowMs }];
  });
}

function isCommitDue({ lease, follow: { memory, clock } }: SolanaPoll): boolean {
  return lease.isWaiting || clock.nowMs() - memory.committedAtMs >= QUIET_COMMIT_MS;
}

/**
 * Stores the progress only with the last changes, so that the next poll finds the changes again after a crash in
 * between.
 */
export async function write(
  poll: SolanaPoll,
  head: number,
  changes: readonly FactChange[],
  last: Partial<Step>,
): Promise<void> {
  await loadProgress(poll);
  const parts = cutSteps(changes, poll.follow.options.stepChanges);
  const final = parts.pop();
  // A list of transactions may be newer than the balances, which gave `head`. The stored head rises to the newest
  // payment, because no webhook gets a payment above the head.
  const top = changes.reduce((most, change) => Math.max(most, positionOf(change)?.blockNumber ?? 0), head);
  const reached = Math.max(top, poll.state.head ?? 0);
  for (const part of parts) {
    // Until all lost payments are written, no payment gains confirmations.
    const isLoss = part.changes.every((change) => positionOf(change) === null);
    await commit(poll, { changes: part.changes, ...(isLoss ? {} : { head: reached, safe: reached }) });
  }
  await commit(poll, { ...levels(poll), head: reached, safe: reached, changes: final?.changes ?? [], ...last });
}
