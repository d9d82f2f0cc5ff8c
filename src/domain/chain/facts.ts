import type { Votes } from './witnesses.ts';

/**
 * A fact is the record of one log or transfer. It stays the same fact if a reorg moves its transaction to another
 * block.
 *
 * | state       | meaning                                             | leaves it by                                           |
 * |-------------|-----------------------------------------------------|--------------------------------------------------------|
 * | `waiting`   | an event is held for a transaction without a block  | `seen`: the transaction is in a block                  |
 * |             |                                                     | `retracted`: it failed in a block that is final        |
 * |             |                                                     | retention, which removes it with its event             |
 * | `seen`      | its block is canonical                              | `moved`: the same state, in another block              |
 * |             |                                                     | `lost`: its block is gone; `final`: it cannot go       |
 * |             |                                                     | `retracted`: most nodes deny that its block has it     |
 * | `lost`      | its block is gone, and it may be back soon          | `moved`: seen again; `retracted`: not back in time     |
 * | `retracted` | every receiver that may have the event gets a retraction | `again`: seen once more, with the next revision     |
 * | `final`     | its block is below finality                         | `lost`, only where an operator resumes a halted network |
 */
export type FactState = 'waiting' | 'seen' | 'lost' | 'retracted' | 'final';

export type BlockRef = { readonly number: number; readonly hash: string };

/** The position of a fact: part of payloads, and never of its identity. */
export type Position = {
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly logIndex: number;
  /** Timestamp of the block, if the node sent it with the log. */
  readonly blockS?: number;
};

export type FactKey = { readonly entityId: string; readonly factId: string };

/** The kind of a transfer, which leads to two events. Any other kind of fact is the kind of its only event. */
export const TRANSFER = 'Transfer';

/** The event kinds that a fact leads to. */
export function kindsOf(kind: string): readonly string[] {
  return kind === TRANSFER ? ['TransferProcessed', 'TransferFinalized'] : [kind];
}

/** A fact that a source found in a log. */
export type FoundFact = FactKey & {
  readonly networkId: number;
  readonly sourceId: string;
  /** The revision of the source's definition that took the log; absent for a source without revisions. */
  readonly sourceRevision?: number;
  readonly kind: string;
  /** Whether the fact is stored, but not delivered. */
  readonly isSilent: boolean;
  /** Whether the amount is below the minimum of the source; absent if it is not. */
  readonly isDust?: boolean;
  readonly transactionHash: string;
  readonly contract: string;
  readonly position: Position;
  readonly transferId: string | null;
  readonly agreementId: string | null;
  /** The address of its source's address book; absent for a source without a book. */
  readonly bookAddress?: string;
  /** The address of an invoice that the log pays, with the token and the amount in its smallest unit; absent for any other log. */
  readonly expected?: { readonly token: string; readonly address: string; readonly base: string };
  /** The invoice of the payment, with the expected amount as a decimal. The store adds it. */
  readonly invoice?: { readonly invoiceId: string; readonly base: string; readonly amount: string };
  /** The fields of the payload that the log proves. */
  readonly fields: Readonly<Record<string, unknown>>;
};

/** A fact as it is stored. */
export type StoredFact = FactKey & {
  /** Null for a held event. If the source is no longer followed, its facts are followed by their transaction. */
  readonly sourceId?: string | null;
  readonly state: FactState;
  readonly revision: number;
  readonly transactionHash: string;
  /** Null while the fact waits for its transaction. */
  readonly position: Position | null;
  /** The head at which Paybell found that the block is gone. */
  readonly lostAtHead: number | null;
  /** Whether the fact is a held event, which has no log. */
  readonly isHeld: boolean;
  /** Whether the fact is a transfer of the network's coin, which leaves no log. */
  readonly isCoin?: boolean;
  /** Whether the fact was stored without an event. */
  readonly isSilent?: boolean;
  /** The nodes that showed or denied the fact in its block. */
  readonly votes: Votes;
  readonly isDisputed: boolean;
};

/**
 * The standing of a fact by the votes of nodes.
 *
 * | standing    | meaning                                                                         |
 * |-------------|---------------------------------------------------------------------------------|
 * | `open`      | too few nodes were asked; below finality it stays `seen` until more were        |
 * | `confirmed` | a quorum has shown it; below finality it is `final`                             |
 * | `disputed`  | nodes are tied; it leads to no event                                            |
 */
export type Evidence = { readonly votes: Votes; readonly standing: 'open' | 'confirmed' | 'disputed' };

/** Why an event is retracted: the block of its payment is gone, or most nodes deny that the block has the payment. */
export type RetractionReason = 'reorg' | 'not_on_chain';

/** A change of one fact, found by reading its network. The store applies it. */
export type FactChange =
  /** In place of a silent fact of another source, if `replacesSilent`. */
  | {
      readonly change: 'seen';
      readonly fact: FoundFact;
      readonly evidence?: Evidence;
      readonly replacesSilent?: boolean;
    }
  /** `waiting`, `seen` or `lost` → `seen`, at this position. */
  | ({ readonly change: 'moved'; readonly position: Position; readonly evidence?: Evidence } & FactKey)
  | ({ readonly change: 'lost'; readonly lostAtHead: number } & FactKey)
  | ({ readonly change: 'retracted'; readonly reason?: RetractionReason; readonly votes?: Votes } & FactKey)
  | ({ readonly change: 'again'; readonly position: Position; readonly evidence?: Evidence } & FactKey)
  /** `seen`, with other votes. */
  | ({ readonly change: 'judged'; readonly evidence: Evidence } & FactKey);

/**
 * The changes of a fact that one response shows. If a network moves a fact again and again, the newest changes are
 * shown.
 */
export const MAX_HISTORY_SHOWN = 100;
export const MAX_FACT_EVENTS_SHOWN = 50;
export const MAX_DELIVERIES_SHOWN = 100;
