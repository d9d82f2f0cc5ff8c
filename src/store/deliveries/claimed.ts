import type { AttemptKind, DeliveryStatus } from '../../domain/attempt.ts';
import type { DestinationKey } from '../../domain/destination.ts';

/** A delivery that this process holds, with all that an attempt needs. */
export type Claimed = {
  entityId: string;
  deliveryId: string;
  /** Counts the claims: with an older one nothing can be settled any more. */
  token: number;
  /** Under which it was claimed; the webhook may have moved since. */
  destination: DestinationKey;
  eventId: string;
  webhookId: string;
  kind: AttemptKind;
  status: DeliveryStatus;
  attempts: number;
  steps: number;
  /** Null when the webhook is gone. */
  postUrl: string | null;
  suspended: boolean;
  failingSinceMs: number | null;
  /** Null when the event is gone. */
  body: string | null;
  /** Of the entity: a new one means that its signing secrets may have changed. */
  revision: number;
  /** When its event was accepted, in the time of this process: the database's clock may run beside ours. */
  acceptedAtMs: number;
};

/** One that has somewhere to go. */
export type Sendable = Claimed & { postUrl: string };

/**
 * Takes deliveries over as they are accepted: they are stored as claimed, and nobody has to look for them and read back
 * what was just written. Whatever it has no room for waits in the store like before.
 */
export interface DirectDispatch {
  /** How long a delivery that was handed over is left alone; after that it is due for whoever finds it. */
  readonly leaseMs: number;
  /** How many wait here for the end of another post to their destination. */
  readonly queued: number;
  /** Keeps a place at the destination for one more, if there is one. */
  reserve(destination: DestinationKey): boolean;
  /** What was reserved for these will not come: their acceptance failed. */
  cancel(deliveries: readonly Sendable[]): void;
  /** They are committed, and each has its place. */
  begin(deliveries: readonly Sendable[]): void;
}
