/** The seven event kinds of the contract, in its order: the only values the list takes as a filter. */
export const EVENT_KINDS = [
  'AgreementSignedUp',
  'AgreementCancelled',
  'ScheduledAgreementCancel',
  'TransferProcessed',
  'TransferCreated',
  'TransferFinalized',
  'LatePayment',
] as const;

export type EventKind = (typeof EVENT_KINDS)[number];

/** What an operator may name in `EXTRA_EVENTS`: the same alphabet as the contract's own names. */
export const EVENT_NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;
