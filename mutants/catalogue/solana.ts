import type { Mutant } from '../mutant.ts';

/** Solana: balances that close, finality and losses by votes, and cursors. */
export const solana: readonly Mutant[] = [
  {
    name: 'solana-open-balances',
    what: 'takes a list of transactions that do not explain each other for complete',
    file: 'chain/solana/follow/account-walk.ts',
    find: 'if (!changes.some(({ before }) => before === balance)) {',
    replace: 'if (changes.length === 0) {',
    caughtBy: { file: 'chain/solana/follow/account-walk', test: 'closes no slot from there on' },
  },
  {
    name: 'solana-unvoted-finality',
    what: 'lets finality pass a payment that one node does not have',
    file: 'chain/solana/follow/confirm.ts',
    find: 'above.filter((fact) => !isVotedFinal(poll, fact)).map(slotOf)',
    replace: 'above.filter((fact) => slotOf(fact) < 0).map(slotOf)',
    caughtBy: { file: 'chain/solana/follow/accounts', test: 'is neither final nor lost' },
  },
  {
    name: 'solana-one-absence',
    what: 'takes a payment for lost because one node does not have it',
    file: 'chain/solana/follow/statuses.ts',
    find: 'if ((memory.absences.get(keyOf(fact))?.size ?? 0) < 2) return null;',
    replace: 'if ((memory.absences.get(keyOf(fact))?.size ?? 0) < 1) return null;',
    caughtBy: { file: 'chain/solana/follow/accounts', test: 'is neither final nor lost' },
  },
  {
    name: 'solana-short-grace',
    what: 'retracts a payment whose transaction can still come back',
    file: 'chain/solana/follow/statuses.ts',
    find: 'const GRACE_SLOTS = 200;',
    replace: 'const GRACE_SLOTS = 3;',
    caughtBy: { file: 'chain/solana/follow/accounts', test: 'retracted once its blockhash is too old' },
  },
  {
    name: 'solana-no-sweep',
    what: 'never lists an account whose balance rises and falls between two polls',
    file: 'chain/solana/follow/live.ts',
    find: 'else if (nowMs - listedAtMs >= SWEEP_MS) stale.push(each);',
    replace: 'else if (nowMs < listedAtMs) stale.push(each);',
    caughtBy: { file: 'chain/solana/follow/accounts', test: 'is found by the sweep' },
  },
  {
    name: 'solana-believed-finality',
    what: 'takes the slot that the asked node calls finalized for final, without another node',
    file: 'chain/solana/follow/confirm.ts',
    find: 'const agreed = witnesses.agree(poll.state).final;',
    replace: 'const agreed = witnesses.of(leader).finalized;',
    caughtBy: { file: 'chain/solana/follow/accounts', test: 'whatever one node says' },
  },
  {
    name: 'solana-kept-transaction',
    what: 'keeps a transaction in memory after another branch has put it into the same slot with another amount',
    file: 'chain/solana/follow/read-accounts.ts',
    find: "if (walk.end === 'gap' && each.entries.length > 0 && left > 0) {",
    replace: "if (walk.end === 'gap' && each.entries.length > 0 && left > 0 && left < 0) {",
    caughtBy: { file: 'chain/solana/follow/accounts', test: 'is read again at once' },
  },
  {
    name: 'solana-cursor-by-one-list',
    what: 'moves the cursor past transactions that only one node has listed',
    file: 'chain/solana/follow/read-accounts.ts',
    find: 'if (same.length < 2 || closing === undefined) continue;',
    replace: 'if (closing === undefined) continue;',
    caughtBy: { file: 'chain/solana/follow/accounts', test: 'until a second node has listed the same' },
  },
];
