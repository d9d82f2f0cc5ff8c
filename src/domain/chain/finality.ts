/** The confirmation that a webhook needs. A number counts confirmations, and the payment's block is the first one. */
export type Finality = 'seen' | 'safe' | 'final' | number;

export const MIN_CONFIRMATIONS = 2;
export const MAX_CONFIRMATIONS = 1_000;

/** Kinds that receivers act on once, so by default they wait until no reorg can undo them. */
const FINAL_BY_DEFAULT: ReadonlySet<string> = new Set([
  'TransferFinalized',
  'AgreementSignedUp',
  'AgreementCancelled',
  'ScheduledAgreementCancel',
]);

export function defaultFinality(event: string): Finality {
  return FINAL_BY_DEFAULT.has(event) ? 'final' : 'seen';
}

export const LEVEL_NAMES = ['seen', 'safe', 'final'] as const;

export function isFinality(value: unknown): value is Finality {
  if (typeof value !== 'number') return LEVEL_NAMES.some((name) => name === value);
  return Number.isInteger(value) && value >= MIN_CONFIRMATIONS && value <= MAX_CONFIRMATIONS;
}

/** The text that is stored, and that is part of an event's id. */
export function finalityText(finality: Finality): string {
  return String(finality);
}

/** Parses a text of `finalityText`. */
export function finalityOf(text: string): Finality {
  return text === 'seen' || text === 'safe' || text === 'final' ? text : Number(text);
}

/** How far a network has come. `safe` and `final` are null until the network has reported them. */
export type Levels = { readonly head: number; readonly safe: number | null; readonly final: number | null };

/** The newest block whose facts have this finality, or null. */
export function reachedBlock(finality: Finality, { head, safe, final }: Levels): number | null {
  if (finality === 'seen') return head;
  if (finality === 'final') return final;
  // Final blocks are also safe, even on a network that does not report `safe`.
  if (finality === 'safe') return safe === null || final === null ? (safe ?? final) : Math.max(safe, final);
  return head - finality + 1;
}
