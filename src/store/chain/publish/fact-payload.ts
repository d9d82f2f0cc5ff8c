import type { Position, RetractionReason } from '../../../domain/chain/facts.ts';
import { caip2, rulesOf } from '../../../domain/chain/families/families.ts';
import type { Finality } from '../../../domain/chain/finality.ts';
import { amountOfKey, paymentIdOf } from '../../../domain/chain/payments.ts';
import { RETRACTION } from '../../../domain/event-kinds.ts';

/** The payloads of events that facts lead to. A payload has only fields that the log proves. */

/** Identifies the event without the fact's block, so that a fact that moves to another block is published once. */
export function factEventId(factId: string, revision: number, event: string, finality: string): string {
  return `${factId}_${revision}_${event}_${finality}`;
}

export type PublishedFact = {
  readonly factId: string;
  readonly networkId: number;
  readonly revision: number;
  readonly transactionHash: string;
  readonly contract: string | null;
  readonly position: Position;
  /** The fields that the log proves, as JSON. */
  readonly fields: string;
  readonly isPayment: number;
  /** The symbol of the payment's token; null or absent if the token returns none. */
  readonly symbol?: string | null;
};

const STATUSES: Readonly<Record<string, string>> = {
  TransferProcessed: 'processed',
  TransferFinalized: 'finalized',
};

export function factPayload(
  fact: PublishedFact,
  event: string,
  finality: Finality,
  moment: { readonly head: number; readonly nowMs: number },
): Record<string, unknown> {
  const { factId, networkId, revision, transactionHash, contract, position, isPayment, symbol = null } = fact;
  const fields = JSON.parse(fact.fields) as Record<string, unknown>;
  const envelope = {
    eventId: factEventId(factId, revision, event, String(finality)),
    event,
    networkId,
    network: caip2(networkId),
    dateCreated: Math.floor(moment.nowMs / 1000),
  };
  const status = STATUSES[event];
  return {
    // The envelope comes first, and no field of a log can replace it.
    ...envelope,
    ...fields,
    ...envelope,
    ...(status !== undefined && { status }),
    transactionHash,
    blockNumber: position.blockNumber,
    blockHash: position.blockHash,
    logIndex: position.logIndex,
    ...(contract !== null && { contract }),
    ...(isPayment === 1 && { paymentId: paymentIdOf(factId) }),
    ...(symbol !== null && { symbol }),
    finality,
    confirmations: Math.max(1, moment.head - position.blockNumber + 1),
    revision,
  };
}

export type RetractedFact = PublishedFact & {
  readonly token: string | null;
  /** An `amountKey`. */
  readonly amount: string | null;
  readonly transferId: string | null;
  readonly agreementId: string | null;
  readonly reason: RetractionReason;
};

/**
 * The members that identify the retracted payment and its amount, for receivers that sum up payments. For a held event, the
 * columns have the amount that its sender stated.
 */
function paymentOf({ factId, networkId, isPayment, fields, ...columns }: RetractedFact): Record<string, string> {
  if (isPayment === 0) return {};
  const logged = JSON.parse(fields) as Record<string, unknown>;
  const amount = textOf(logged.amount) ?? (columns.amount === null ? null : amountOfKey(columns.amount));
  const amountBase = textOf(logged.amountBase);
  const token = textOf(logged.token) ?? (columns.token && rulesOf(networkId).addresses.show(columns.token));
  return {
    paymentId: paymentIdOf(factId),
    ...(amount !== null && { amount }),
    ...(amountBase !== null && { amountBase }),
    ...(token !== null && { token }),
  };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** The payload of a retraction. Its position is the last one that the fact had. */
export function retractionPayload(
  fact: RetractedFact,
  eventId: string,
  retracts: { readonly eventId: string; readonly event: string },
  nowMs: number,
): Record<string, unknown> {
  const { networkId, revision, transactionHash, transferId, agreementId, position } = fact;
  return {
    eventId,
    event: RETRACTION,
    networkId,
    network: caip2(networkId),
    dateCreated: Math.floor(nowMs / 1000),
    retracts,
    reason: fact.reason,
    transactionHash,
    ...(transferId !== null && { transferId }),
    ...(agreementId !== null && { agreementId }),
    ...paymentOf(fact),
    lostBlockNumber: position.blockNumber,
    lostBlockHash: position.blockHash,
    revision,
  };
}
