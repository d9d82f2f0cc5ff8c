import type { AttemptKind, DeliveryStatus } from '../../../domain/attempt.ts';
import type { DestinationKey } from '../../../domain/post-url.ts';

/** A delivery that this process holds, with all that an attempt needs. */
export type Claimed = {
  entityId: string;
  deliveryId: string;
  /** Counts the claims. A failure is recorded only under the newest token. */
  token: number;
  destination: DestinationKey;
  eventId: string;
  /** The number of the webhook's head (`heads.ts`), and the id that callers know it by. */
  webhookNo: number;
  webhookId: string;
  /** The number of `postUrl` among the entity's endpoints. */
  endpointNo: number;
  /** Null for alerts, test requests, and deliveries from before there were numbers. */
  sequence: number | null;
  /** The endpoint that numbered the delivery. It differs from `endpointNo` if the webhook has moved since then. */
  sequenceEndpointNo: number;
  /** The digits of the delivery's order key (`order/order-keys.ts`); null without a key. */
  orderKey: string | null;
  postUrl: string;
  kind: AttemptKind;
  /** Before this attempt. */
  status: DeliveryStatus;
  attempts: number;
  /** The value before this claim, which the return of an unsent claim writes back. */
  mayBeReceived: boolean;
  /** Steps of the schedule used up. */
  steps: number;
  /** The head's generation at the claim. A retry keeps its schedule only within the same generation. */
  generation: number;
  failingSinceMs: number | null;
  /** Null when the event is gone. */
  body: string | null;
  /** The trace of the event (`domain/trace-context.ts`). */
  trace: string | null;
  /** The entity's revision. A new revision means that the entity's signing secrets may have changed. */
  revision: number;
  /** By the database's clock. */
  createdAtMs: number;
  /** The time of acceptance by the clock of this process, for the measurement of latency. */
  acceptedAtMs: number;
  /** The end of the lease by the monotonic clock of this process, measured from before the claim was sent. */
  leaseEndsMs: number;
};

/**
 * Sends deliveries of this process as soon as they are committed. They are stored as claimed, so that no claim has to find them
 * and read them again. Deliveries that get no slot wait in the store.
 */
export interface DirectDispatch {
  /** How long a dispatched delivery stays with this process; after that any instance may claim it. */
  readonly leaseMs: number;
  /** How many committed deliveries wait in this process for a slot of their destination. */
  readonly queued: number;
  /** Takes up to `wanted` slots of the destination and returns how many it got. */
  reserve(destination: DestinationKey, wanted: number): number;
  /** Frees slots whose deliveries will not come, because their acceptance failed. */
  cancel(slots: ReadonlyMap<DestinationKey, number>): void;
  /** Starts committed deliveries, each of which has its slot already. */
  begin(deliveries: readonly Claimed[]): void;
}
