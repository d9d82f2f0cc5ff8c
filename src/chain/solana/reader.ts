import { versionsOf } from '../../store/chain/network-store.ts';
import type { Follow } from '../follow/poll.ts';
import type { ChainReader, Consultation, ReadResult } from '../follow/reader.ts';
import type { Node } from '../rpc/node.ts';
import { NATIVE } from './decode/credits.ts';
import { PaymentDecoder } from './decode/facts.ts';
import { backfillOnce, hasBackfill } from './follow/backfill.ts';
import { confirmFinality } from './follow/confirm.ts';
import { consultOthers } from './follow/consult.ts';
import { moveCursors } from './follow/cursors.ts';
import { followLive } from './follow/live.ts';
import { SolanaMemory } from './follow/memory.ts';
import type { SolanaFollow, SolanaPoll } from './follow/solana-poll.ts';
import { followStatuses } from './follow/statuses.ts';
import { nameOwner } from './practice/practice-exchange.ts';

/** Reads Solana, which has no logs: payments are changes of the balances of accounts. */
export class SolanaReader implements ChainReader {
  readonly catchesUp = false;
  readonly #payments = new PaymentDecoder();

  constructor(private readonly isPractice = false) {}

  prepare(follow: Omit<Follow, 'memory'>): SolanaFollow {
    return { ...follow, payments: this.#payments, memory: new SolanaMemory() };
  }

  follow(poll: SolanaPoll, node: Node, withTags: boolean): Promise<ReadResult> {
    if (this.isPractice) nameOwners(poll);
    return followLive(poll, node, withTags);
  }

  consult(poll: SolanaPoll, leader: Node, consultation: Consultation): Promise<boolean> {
    return consultOthers(poll, leader, consultation);
  }

  checks(poll: SolanaPoll, leader: Node): readonly (() => Promise<void>)[] {
    return [followStatuses, confirmFinality, moveCursors].map((check) => () => check(poll, leader));
  }

  backfill(poll: SolanaPoll, node: Node): Promise<void> {
    return backfillOnce(poll, node);
  }

  hasBackfill(poll: SolanaPoll): boolean {
    return hasBackfill(poll);
  }
}

/** Names the wallet of each token account, because the practice network pays only accounts whose wallet it knows. */
function nameOwners({ sources }: SolanaPoll): void {
  for (const { topics, definition } of sources.flatMap(versionsOf)) {
    const [wallets, accounts] = topics ?? [];
    if (definition.contract === NATIVE) continue;
    for (const [place, account] of (accounts ?? []).entries()) {
      const wallet = wallets?.[place];
      if (wallet !== undefined) nameOwner(account, { wallet, token: definition.contract });
    }
  }
}
