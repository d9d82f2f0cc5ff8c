import { RpcFailure } from '../../rpc/failures.ts';
import type { Node } from '../../rpc/node.ts';
import type { WatchedAccount } from '../rpc/calls.ts';
import { loadProgress, watchedAccounts } from './accounts.ts';
import { write } from './live.ts';
import { readAccounts } from './read-accounts.ts';
import type { SolanaPoll } from './solana-poll.ts';

/** Moves the cursor of an account past finalized transactions, after another node has listed the same transactions. */

/** Limit on the accounts of one poll. The next poll continues: a late cursor only costs calls. */
const MAX_ACCOUNTS_A_POLL = 25;

export async function moveCursors(poll: SolanaPoll, leader: Node): Promise<void> {
  const { memory } = poll.follow;
  await loadProgress(poll);
  const due = watchedAccounts(poll).filter((watched) => isDue(poll, watched));
  if (due.length === 0) return;
  const start = memory.turn++ % due.length;
  const turn = [...due.slice(start), ...due.slice(0, start)].slice(0, MAX_ACCOUNTS_A_POLL);
  const node = nodeFor(poll, leader, turn[0]);
  const at = memory.head ?? poll.state.head ?? 0;
  // The node may be behind the leader, because only slots up to finality count here.
  const options = { shown: () => null, minContextSlot: poll.state.final, at };
  try {
    const { changes, accounts } = await readAccounts(poll, node, turn, options);
    if (changes.length + accounts.length > 0) await write(poll, at, changes, { accounts });
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
  }
}

/** Whether transactions above the cursor are final, and the account was read to its end. */
function isDue({ state, follow: { memory } }: SolanaPoll, { account }: WatchedAccount): boolean {
  const { known, newestSlot, lists } = memory.accountOf(account);
  const cursor = memory.progress?.get(account)?.cursorSlot;
  if (known === null || newestSlot === null || cursor === undefined || state.final === null) return false;
  // A busy account always has a transaction that is not final yet. Its cursor moves once its oldest transaction is
  // `BUSY_SLOTS` below finality.
  const oldest = [...(lists[0]?.digests.keys() ?? [])][0] ?? newestSlot;
  return newestSlot > cursor && (newestSlot <= state.final || oldest + BUSY_SLOTS <= state.final);
}

const BUSY_SLOTS = 150;

/** A node other than the one that listed the account last. */
function nodeFor({ follow }: SolanaPoll, leader: Node, watched: WatchedAccount | undefined): Node {
  const lists = watched === undefined ? [] : follow.memory.accountOf(watched.account).lists;
  const last = lists[0]?.voter.split(' ')[0];
  const others = follow.nodes.others(leader);
  const candidates = [...others, leader].filter(({ id }) => id !== last);
  return candidates[follow.memory.turn % Math.max(1, candidates.length)] ?? leader;
}
