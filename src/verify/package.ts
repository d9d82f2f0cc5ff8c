/** The exports of `@paybell/client/verify`. */

export type {
  AgreementCancelled,
  AgreementSignedUp,
  EventRetracted,
  LatePayment,
  ScheduledAgreementCancel,
  TransferCreated,
  TransferFinalized,
  TransferProcessed,
  WebhookSuspended,
} from '../contract/events/payloads.ts';
// biome-ignore lint/performance/noBarrelFile: a package has one entry point
export { checkSequence, type ReceivedSequence } from './check-sequence.ts';
export type { EventsByKind, PaybellEvent } from './events.ts';
export type { ReceivedHeaders } from './headers.ts';
export { type PublishedKeySet, publicKeysOf } from './key-set.ts';
export { type SequenceGap, SequenceTracker, type SequenceTrackerOptions } from './sequence-tracker.ts';
export { VerificationError, type VerificationFault } from './verification-error.ts';
export { type RawBody, type VerifyOptions, verify } from './verify.ts';
