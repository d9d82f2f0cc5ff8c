/** The seven event kinds of the contract, in its order. A list of deliveries accepts only these as a filter. */
export const EVENT_KINDS = [
  'AgreementSignedUp',
  'AgreementCancelled',
  'ScheduledAgreementCancel',
  'TransferProcessed',
  'TransferCreated',
  'TransferFinalized',
  'LatePayment',
] as const;

/**
 * Retracts an event that was sent before. Webhooks cannot register for it: it goes to every receiver of the original.
 */
export const RETRACTION = 'EventRetracted';

export type EventKind = (typeof EVENT_KINDS)[number];

/** The form of a name in `EXTRA_EVENTS`. */
export const EVENT_NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

export function isEventKind(name: string): name is EventKind {
  const kinds: readonly string[] = EVENT_KINDS;
  return kinds.includes(name);
}
