import type { AccountProgress, BackfillProgress, FollowedSource, Step } from '../../../store/chain/network-store.ts';
import { versionsOf } from '../../../store/chain/network-store.ts';
import type { Node } from '../../rpc/node.ts';
import { NATIVE } from '../decode/credits.ts';
import { balancesOf, MAX_ACCOUNTS, type WatchedAccount } from '../rpc/calls.ts';
import type { SolanaPoll } from './solana-poll.ts';

/**
 * The accounts of all sources, each read once even if several sources watch it. A new account begins at a finalized
 * slot, with its balance there. If a source starts at an older slot, a backfill reads its slots up to there. After the
 * last source of an account is gone, the next poll drops the account.
 */

/** An account with its owner and its token. */
type OwnedAccount = WatchedAccount & Pick<AccountProgress, 'wallet' | 'contract'>;

/** The accounts that a source watches: one for each wallet. */
export function accountsOf(source: FollowedSource): OwnedAccount[] {
  return versionsOf(source).flatMap(({ topics, definition: { contract } }) => {
    const [wallets, accounts] = topics ?? [];
    const walletOf = (place: number) => wallets?.[place] ?? '';
    return (accounts ?? []).map((account, place) => ({
      ...{ account, wallet: walletOf(place), contract, isNative: contract === NATIVE },
    }));
  });
}

export function watchedAccounts({ sources }: SolanaPoll): OwnedAccount[] {
  return [...new Map(sources.flatMap(accountsOf).map((each) => [each.account, each])).values()];
}

/** The stored progress. Reads it again after a commit that failed. */
export async function loadProgress({ follow, lease }: SolanaPoll): Promise<Map<string, AccountProgress>> {
  const { memory, store } = follow;
  memory.progress ??= new Map((await store.accounts(lease.networkId)).map((each) => [each.account, each]));
  return memory.progress;
}

/** Stores a step. A commit that fails may still have been stored, so the progress in memory is dropped. */
export async function commit(poll: SolanaPoll, part: Partial<Step>): Promise<void> {
  const { memory } = poll.follow;
  const progress = memory.progress;
  memory.progress = null;
  await poll.commit(part);
  for (const each of part.accounts ?? []) progress?.set(each.account, each);
  for (const account of part.droppedAccounts ?? []) {
    progress?.delete(account);
    memory.accounts.delete(account);
  }
  memory.progress = progress;
}

export type Joining = Required<Pick<Step, 'accounts' | 'droppedAccounts' | 'backfilled'>>;

/** Gives each new account its first slot, and each new source the slots that its backfill must read. */
export async function joinSources(poll: SolanaPoll, node: Node, watched: readonly OwnedAccount[]): Promise<Joining> {
  const progress = await loadProgress(poll);
  const fresh = watched.filter(({ account }) => !progress.has(account) || isLeftOver(poll, account));
  const accounts: AccountProgress[] = [];
  for (let at = 0; at < fresh.length; at += MAX_ACCOUNTS) {
    const chunk = fresh.slice(at, at + MAX_ACCOUNTS);
    const call = balancesOf(chunk, 'finalized', null);
    const { slot, balances } = (await node.send([call], 'head')).value(call);
    accounts.push(...chunk.map((each, place) => startOf(poll, each, slot, balances[place] ?? 0n)));
  }
  const started = new Map(accounts.map((each) => [each.account, each]));
  const cursorOf = (account: string) => (started.get(account) ?? progress.get(account))?.cursorSlot ?? 0;
  const backfilled: BackfillProgress[] = [];
  for (const source of poll.sources) {
    const { entityId, sourceId, fromBlock, nextBlock, lastBlock } = source;
    if (lastBlock !== null) continue;
    const own = accountsOf(source).map(({ account }) => account);
    backfilled.push({
      ...{ entityId, sourceId, nextBlock: nextBlock ?? fromBlock },
      lastBlock: own.reduce((highest, account) => Math.max(highest, cursorOf(account)), 0),
    });
    for (const account of own) poll.follow.memory.accountOf(account).known = null;
  }
  for (const { account } of accounts) Object.assign(poll.follow.memory.accountOf(account), { known: null, lists: [] });
  return { accounts, droppedAccounts: unused(watched, progress), backfilled };
}

function startOf(
  poll: SolanaPoll,
  { account, wallet, contract }: OwnedAccount,
  slot: number,
  balance: bigint,
): AccountProgress {
  return {
    ...{ account, wallet, contract },
    ...{ cursorSlot: slot, cursorBalance: String(balance), untilSignature: null, lastSignature: null },
    sweptAtMs: poll.lease.nowMs,
  };
}

/** Whether the stored progress is of a deleted source: all sources that read the account now are new. */
function isLeftOver({ sources, follow }: SolanaPoll, account: string): boolean {
  if (follow.memory.accounts.has(account)) return false;
  const readers = sources.filter((source) => accountsOf(source).some((each) => each.account === account));
  return readers.every(({ nextBlock, lastBlock }) => nextBlock === null && lastBlock === null);
}

/**
 * Accounts that no source reads now. A paused source needs no cursor, because a backfill later reads the slots of its
 * pause.
 */
function unused(watched: readonly WatchedAccount[], progress: ReadonlyMap<string, AccountProgress>): string[] {
  const used = new Set(watched.map(({ account }) => account));
  return [...progress.keys()].filter((account) => !used.has(account));
}
