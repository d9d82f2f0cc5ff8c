/** How sure a webhook wants to be of what a chain says: a number counts confirmations, the block itself being the first. */
export type Finality = 'seen' | 'safe' | 'final' | number;

export const MIN_CONFIRMATIONS = 2;
export const MAX_CONFIRMATIONS = 1_000;

/** Kinds that act on what has been said once, so that they wait until it cannot be undone. */
const FINAL_BY_DEFAULT: ReadonlySet<string> = new Set([
  'TransferFinalized',
  'AgreementSignedUp',
  'AgreementCancelled',
  'ScheduledAgreementCancel',
]);

export function defaultFinality(event: string): Finality {
  return FINAL_BY_DEFAULT.has(event) ? 'final' : 'seen';
}

/** A transfer is finalized when it is final, and never before. */
export function allowsFinality(event: string, finality: Finality): boolean {
  return event !== 'TransferFinalized' || finality === 'final';
}

/** As it is stored and as it is part of an event's id. */
export function finalityText(finality: Finality): string {
  return String(finality);
}

/** Of a text that `finalityText` made. */
export function finalityOf(text: string): Finality {
  return text === 'seen' || text === 'safe' || text === 'final' ? text : Number(text);
}

/** How far a network has come. `safe` and `final` are null before the network has said them. */
export type Levels = { readonly head: number; readonly safe: number | null; readonly final: number | null };

/** The newest block whose facts have this finality; null where there is none. */
export function reachedBlock(finality: Finality, { head, safe, final }: Levels): number | null {
  if (finality === 'seen') return head;
  if (finality === 'final') return final;
  // What is final is safe, also on a network that does not say what is safe.
  if (finality === 'safe') return safe === null || final === null ? (safe ?? final) : Math.max(safe, final);
  return head - finality + 1;
}
