import { caip2 } from '../../contract/events/samples.ts';
import type { Position, RetractionReason } from '../../domain/chain/facts.ts';
import type { Finality } from '../../domain/chain/finality.ts';
import { RETRACTION } from '../../domain/event-kinds.ts';

/** The payloads of events that facts lead to. What a log does not prove is absent. */

/** Says all that makes the event another one, and nothing of where the fact stands: a fact that has moved is told once. */
export function factEventId(factId: string, revision: number, event: string, finality: string): string {
  return `${factId}_${revision}_${event}_${finality}`;
}

export type ToldFact = {
  readonly factId: string;
  readonly networkId: number;
  readonly revision: number;
  readonly transactionHash: string;
  readonly contract: string | null;
  readonly position: Position;
  /** What the log proves, as JSON. */
  readonly fields: string;
};

const STATUSES: Readonly<Record<string, string>> = {
  TransferProcessed: 'processed',
  TransferFinalized: 'finalized',
};

export function factPayload(
  fact: ToldFact,
  event: string,
  finality: Finality,
  moment: { readonly head: number; readonly nowMs: number },
): string {
  const { factId, networkId, revision, transactionHash, contract, position } = fact;
  const fields = JSON.parse(fact.fields) as Record<string, unknown>;
  const envelope = {
    eventId: factEventId(factId, revision, event, String(finality)),
    event,
    networkId,
    network: caip2(networkId),
    dateCreated: Math.floor(moment.nowMs / 1000),
  };
  const status = STATUSES[event];
  return JSON.stringify({
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
    finality,
    confirmations: Math.max(1, moment.head - position.blockNumber + 1),
    revision,
  });
}

export type RetractedFact = ToldFact & {
  readonly transferId: string | null;
  readonly agreementId: string | null;
  readonly reason: RetractionReason;
};

/** The position is the last one that the fact had. */
export function retractionPayload(
  fact: RetractedFact,
  eventId: string,
  retracts: { readonly eventId: string; readonly event: string },
  nowMs: number,
): string {
  const { networkId, revision, transactionHash, transferId, agreementId, position } = fact;
  return JSON.stringify({
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
    lostBlockNumber: position.blockNumber,
    lostBlockHash: position.blockHash,
    revision,
  });
}
