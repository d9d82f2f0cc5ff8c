import type { InvoiceState } from '../../domain/chain/invoices/invoice-state.ts';
import type { DomainError } from '../../domain/errors.ts';
import type { EventNumbers } from '../../domain/ids.ts';
import type { DestinationKey } from '../../domain/post-url.ts';
import { type Role, roleOf } from '../../domain/supersession/rules.ts';
import type { Dialect, Queries, SqlUuid } from '../database/database.ts';
import type { Claimed, DirectDispatch } from '../deliveries/claim/claimed.ts';
import type { CountChanges } from '../deliveries/counts/counts.ts';
import type { Place, Promotion } from '../deliveries/order/order-keys.ts';
import type { QueuedDelivery } from '../deliveries/queued.ts';

/** Types that the steps of an acceptance share: the event as it comes in, its parts, and the transaction. */

export type NewEvent = {
  entityId: string;
  /** Null if the sender gave none. The id is then made from the event's number. */
  eventId: string | null;
  event: string;
  networkId: number;
  /** A JSON object, byte for byte as it was sent. */
  body: string;
  /** The agreement and the transfer, if the payload names them. */
  agreementId?: string | null;
  transferId?: string | null;
  /** If a finality is set, only webhooks that wanted it at `seenRevision` get the event. Otherwise all webhooks get it. */
  finality?: string | null;
  /** The amount that webhooks with rules compare (`domain/chain/finality-by-amount.ts`). */
  ruleAmount?: string | null;
  seenRevision?: number | null;
  /** The fact that the event is about. A webhook gets the events of one fact in order. */
  factKey?: string | null;
  /** The id of the event that this one retracts. The retraction goes to the receivers that may have that event. */
  retracts?: string | null;
  /** The round of the retracted event, or 0 unless that event was held. */
  round?: number;
  /** The state of the invoice, if the event is about an invoice. */
  invoiceState?: InvoiceState | null;
  /** The payment that the event describes, if retractions of the payment may have been published before. */
  returned?: Returned | null;
  /**
   * The transaction for which the event is held. Each webhook gets a delivery when the transaction reaches the finality that
   * the webhook asked for.
   */
  heldFor?: string | null;
  /** How many events of the entity may be held for transactions that no block has. Null for no limit. */
  heldLimit?: number | null;
  /** The trace that the event belongs to (`domain/trace-context.ts`). */
  trace?: string | null;
  /** Whether the event begins a trace if it belongs to none. `batchTrace` is the trace of the batch that contained the event. */
  beginsTrace?: boolean;
  batchTrace?: string | null;
  /** The time from acceptance to the first attempt: the first step of the schedule. */
  firstDelayMs: number;
};

/** A webhook that gets an event, with the head of its queue. */
export type Receiver = {
  webhookNo: number;
  webhookId: string;
  postUrl: string;
  destination: DestinationKey;
  endpointNo: number;
  /** Whether the endpoint has ordering. */
  isOrdered: boolean;
  isBlocked: boolean;
  generation: number;
  failingSinceMs: number | null;
  /** The entity's revision. A new revision means that the entity's signing secrets may have changed. */
  revision: number;
  /** The revision of the entity's registry that this row belongs to: `entities.revision`. */
  registryRevision: number;
  /** A stored finality; null if the webhook has the default of its event kind. */
  finality: string | null;
  /** Hash of the filter that may reject the event. Null if the webhook has no filter. */
  filterHash: string | null;
};

/** The event that a retraction withdraws. */
export type RetractedEvent = {
  readonly no: SqlUuid;
  /** The round whose deliveries are retracted. */
  readonly round: number;
  readonly event: string;
  readonly agreementId: string | null;
  readonly transferId: string | null;
  /** How many webhooks may have received the event. */
  readonly receivers: number;
};

export type Incoming = {
  readonly event: NewEvent;
  readonly eventNo: string;
  /** Receivers whose deliveries are created in this transaction. */
  readonly receivers: readonly Receiver[];
  /** The number of all deliveries, including deliveries that a task creates. */
  readonly deliveries: number;
  /** Where a task continues. Null if this transaction creates all deliveries. */
  readonly rest: Rest | null;
  /** The event that a retraction withdraws. */
  readonly retracted?: RetractedEvent;
  /** Why the event cannot be accepted. */
  readonly rejected?: DomainError;
};

/** The fan-out continues after this webhook, over the registry as it was at this revision. */
export type Rest = { readonly afterNo: number; readonly revision: number };

/** A payment that has returned: its fact, with a revision above 1. */
export type Returned = { readonly entityId: string; readonly factId: string; readonly revision: number };

/** A redelivery of an outdated event that is in the queue. */
export type Outdated = { readonly entityId: string; readonly id: SqlUuid; readonly orderKey: SqlUuid | null };

/** Key of a cell: all events of one cell go to the same webhooks. */
export function cellKey({ entityId, networkId, event }: Pick<NewEvent, 'entityId' | 'networkId' | 'event'>): string {
  return `${entityId} ${networkId} ${event}`;
}

/** Whether both events have one cell. This is cheaper than a comparison of two keys. */
export function isSameCell(one: NewEvent, other: NewEvent): boolean {
  return one.entityId === other.entityId && one.networkId === other.networkId && one.event === other.event;
}

/** Returns the place of a delivery in the order of its key; null for a delivery without a key. */
export type Turns = (incoming: Incoming, receiver: Receiver) => Place | null;

export const WITHOUT_ORDER: Turns = () => null;

export type Order = {
  /** The events that get deliveries, or a task for them. */
  readonly accepted: readonly Incoming[];
  /** The id of the superseding event, by the number of an event that was superseded on arrival. */
  readonly supersededBy: ReadonlyMap<string, string>;
  readonly turns: Turns;
  /** Deliveries that have their turn now, because an earlier delivery of their key was superseded. */
  readonly promoted: readonly Promotion[];
};

/** The order of events without a subject: none of them waits for another. */
export function withoutOrder(accepted: readonly Incoming[]): Order {
  return { accepted, supersededBy: new Map(), turns: WITHOUT_ORDER, promoted: [] };
}

/** Whether the event has a subject, so that it may have an order with other events. */
export function hasSubject({ agreementId = null, transferId = null, factKey = null }: NewEvent): boolean {
  return agreementId !== null || transferId !== null || factKey !== null;
}

/** The part of an event that decides its role. */
export type EventWithRole = Pick<
  NewEvent,
  'entityId' | 'event' | 'agreementId' | 'transferId' | 'invoiceState' | 'heldFor'
>;

/** The role of an event. A held event supersedes others only when it is released, because its transaction may never be in a block. */
export function roleOfEvent({
  event,
  agreementId = null,
  transferId = null,
  invoiceState = null,
  heldFor = null,
}: EventWithRole): Role | null {
  const role = roleOf(event, { agreementId, transferId }, invoiceState);
  return heldFor !== null && role?.kind === 'supersedes' ? null : role;
}

export type AcceptancePlan = {
  rows: QueuedDelivery[];
  /** Deliveries that are stored as claimed by this process, which sends them as soon as they are committed. */
  dispatched: Claimed[];
  /** Destinations with deliveries to claim. */
  due: Set<DestinationKey>;
};

/** `repeated` is true if the same bytes were accepted under this id before. The first result counts. */
export type Acceptance = {
  eventId: string;
  deliveries: number;
  /** The event that superseded this one on arrival. A superseded event is stored, and not delivered. */
  supersededBy: string | null;
  repeated: boolean;
};

/** The result of an acceptance transaction. Callers may use it only after the commit. */
export type AcceptedGroup = {
  /** In the order of the events. If the group was cut short, the results of the last events are missing. */
  results: (Acceptance | DomainError)[];
  /** Slots that were taken at each destination. They are freed if the transaction fails. */
  readonly slots: Map<DestinationKey, number>;
  /**
   * The transaction has failed and its slots are free. Its last statement may still run, but it must not take more
   * slots.
   */
  isOver: boolean;
  dispatched: Claimed[];
  /** Destinations with deliveries to claim. */
  due: ReadonlySet<DestinationKey>;
  /** By the database's clock. */
  nowMs: number;
  /** The destinations of each new event. */
  readonly destinations: { entityId: string; destinations: DestinationKey[] }[];
  /** Whether a task creates deliveries that this transaction had no room for. */
  hasRest: boolean;
};

export function emptyGroup(): AcceptedGroup {
  return {
    results: [],
    slots: new Map(),
    isOver: false,
    dispatched: [],
    due: new Set(),
    nowMs: 0,
    destinations: [],
    hasRest: false,
  };
}

/** One transaction that accepts events. Each step reads the results of the steps before it, and adds its own. */
export type AcceptanceRun = {
  readonly queries: Queries;
  readonly dialect: Dialect;
  readonly events: readonly NewEvent[];
  readonly directDispatch: DirectDispatch | null;
  readonly numbers: EventNumbers;
  /** By the monotonic clock: the leases of direct dispatch count from here. */
  readonly startedMs: number;
  readonly changes: CountChanges;
  readonly group: AcceptedGroup;
  /** The receivers of each cell. They are read for the first events, as many as the transaction has room for. */
  receivers: ReadonlyMap<string, readonly Receiver[]>;
  /** Whether any entity has listen sessions. */
  isListened: boolean;
  /** The events that the transaction decides about. */
  incoming: readonly Incoming[];
  /** The new events among them. */
  added: readonly Incoming[];
  outdated: readonly Outdated[];
  order: Order;
  plan: AcceptancePlan;
};

/** A step of an acceptance, in the folder of its concept. */
export type AcceptanceStep = (run: AcceptanceRun) => Promise<void>;
