import type { AttemptKind, DeliveryStatus } from '../../domain/attempt.ts';
import type { DestinationKey } from '../../domain/destination.ts';

/** A delivery that this process has claimed, with everything that an attempt needs. */
export type Claimed = {
  entityId: string;
  deliveryId: string;
  /** Counts the claims: an attempt is recorded only with the newest token. */
  token: number;
  /** The destination under which it was claimed; the webhook may have another URL by now. */
  destination: DestinationKey;
  eventId: string;
  /** Sent by Paybell itself to the entity's notice URL, for no webhook. */
  isAlert: boolean;
  webhookId: string;
  kind: AttemptKind;
  status: DeliveryStatus;
  attempts: number;
  steps: number;
  /** Null when the webhook was deleted. */
  postUrl: string | null;
  suspended: boolean;
  failingSinceMs: number | null;
  /** Null when the event was removed. */
  body: string | null;
  /** The revision of the entity: when it rises, its signing secrets may have changed. */
  revision: number;
  /** When its event was accepted, by the clock of this process, which may differ from the database's. */
  acceptedAtMs: number;
};

/** A claimed delivery that has a URL. */
export type Sendable = Claimed & { postUrl: string };

/**
 * Takes over deliveries as they are accepted. They are stored as claimed, so that no one has to look for them and read
 * back what was just written. A delivery for which there is no slot waits in the store until it is claimed.
 */
export interface DirectDispatch {
  /** The lease of a dispatched delivery; after that, any process may claim it. */
  readonly leaseMs: number;
  /** How many deliveries are queued here behind other requests to their destination. */
  readonly queued: number;
  /** Reserves a slot at the destination, if one is free. */
  reserve(destination: DestinationKey): boolean;
  /** Releases the slots of deliveries whose acceptance failed. */
  cancel(deliveries: readonly Sendable[]): void;
  /** Starts deliveries that are committed; each has its slot. */
  begin(deliveries: readonly Sendable[]): void;
}
