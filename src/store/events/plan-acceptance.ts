import type { InvoiceState } from '../../domain/chain/invoices/invoice-state.ts';
import type { DomainError } from '../../domain/errors.ts';
import { deliveryHex, timeOfHex } from '../../domain/ids.ts';
import type { DestinationKey } from '../../domain/post-url.ts';
import { type Role, roleOf } from '../../domain/supersession/rules.ts';
import type { SqlUuid } from '../database/database.ts';
import type { Claimed } from '../deliveries/claim/claimed.ts';
import type { Place, Promotion } from '../deliveries/order/order-keys.ts';
import { webhookOfHead } from '../deliveries/retraction-heads.ts';
import type { Returned } from './retraction/outdate.ts';

/** Acceptance as a calculation: which rows an event becomes, which of them go out at once, and which are due. */

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
  /** Only webhooks that wanted this finality at `seenRevision` get it; all of them if it is null. */
  finality?: string | null;
  /** The amount that webhooks with rules compare (`domain/chain/finality-by-amount.ts`). */
  ruleAmount?: string | null;
  seenRevision?: number | null;
  /** Events with the same one are kept in order at every endpoint. */
  factKey?: string | null;
  /** The id of the event that this one retracts. The retraction goes to the receivers that may have that event. */
  retracts?: string | null;
  /** The round of the event that it retracts; 0 unless that event was held. */
  round?: number;
  /** The state of its invoice, if it is an event of an invoice. */
  invoiceState?: InvoiceState | null;
  /** The payment that it describes, of which retractions may have been published before. */
  returned?: Returned | null;
  /** A transaction: the deliveries are made as it reaches the finality that each webhook asked for. */
  heldFor?: string | null;
  /** How many events of the entity may be held for transactions that no block has; any number without it. */
  heldLimit?: number | null;
  /** The trace that it belongs to (`domain/trace-context.ts`). */
  trace?: string | null;
  /** Whether it begins a trace where it belongs to none, and the trace of the batch that it came with. */
  beginsTrace?: boolean;
  batchTrace?: string | null;
  /** From acceptance to the first attempt; the first step of the schedule. */
  firstDelayMs: number;
};

/** A webhook that an event goes to, with the head of its queue. */
export type Receiver = {
  webhookNo: number;
  webhookId: string;
  postUrl: string;
  destination: DestinationKey;
  endpointNo: number;
  /** Whether the endpoint keeps order. */
  isOrdered: boolean;
  isBlocked: boolean;
  generation: number;
  failingSinceMs: number | null;
  /** The entity's revision. A new one means that its signing secrets may have changed. */
  revision: number;
  /** The state of the entity's registry that this row belongs to: `entities.revision`. */
  registryRevision: number;
  /** A stored finality; null if the webhook has the default of its event kind. */
  finality: string | null;
  /** Hash of the filter that may reject the event. Null if the webhook has no filter. */
  filterHash: string | null;
};

/** The event that a retraction withdraws. */
export type RetractedEvent = {
  readonly no: SqlUuid;
  readonly event: string;
  readonly agreementId: string | null;
  readonly transferId: string | null;
  /** How many webhooks may have received it. */
  readonly possibleReceivers: number;
};

export type Incoming = {
  readonly event: NewEvent;
  readonly eventNo: string;
  /** Receivers whose deliveries are created in this transaction. */
  readonly receivers: readonly Receiver[];
  /** All of its deliveries, including those that a task makes. */
  readonly deliveries: number;
  /** The position at which a task continues. Null if this transaction creates all deliveries. */
  readonly rest: Rest | null;
  /** The event that a retraction withdraws. */
  readonly retracted?: RetractedEvent;
  /** Why the event cannot be accepted. */
  readonly rejected?: DomainError;
};

/** The walk continues after this webhook, over the registry as it was at this revision. */
export type Rest = { readonly afterNo: number; readonly revision: number };

/** A row of `queue` before anything has happened to it. */
export type QueuedDelivery = {
  entityId: string;
  hex: string;
  receiver: Receiver;
  createdAtMs: number;
  dueMs: number;
  /** Zero if no instance has claimed it. */
  leaseMs: number;
  /** Given with the insertion. */
  sequence: number | null;
  /** Position in the order of its key. Null without a key. */
  place: Place | null;
  /** The claim if this process dispatches the delivery. */
  claim: Claimed | null;
};

export type AcceptancePlan = {
  rows: QueuedDelivery[];
  /** Stored as claimed by this process, which sends them as soon as they are committed. */
  dispatched: Claimed[];
  /** Destinations with deliveries to claim. */
  due: Set<DestinationKey>;
};

export type Moment = {
  nowMs: number;
  /** The lease of directly dispatched deliveries. */
  leaseMs: number;
  /** The time of acceptance by the clock of this process, for the measurement of latency. */
  acceptedAtMs: number;
  /** The end of these leases by the monotonic clock of this process. */
  leaseEndsMs: number;
};

/**
 * Takes the first events that fit into one transaction. The first event always fits: a task creates its remaining
 * deliveries. An event that may not join the ones before it begins the next transaction.
 */
export function cutByDeliveries(
  events: readonly NewEvent[],
  receivers: ReadonlyMap<string, readonly Receiver[]>,
  most: number,
  mayJoin: (event: NewEvent) => boolean = () => true,
): [NewEvent, readonly Receiver[]][] {
  const taken: [NewEvent, readonly Receiver[]][] = [];
  let deliveries = 0;
  for (const event of events) {
    const found = receivers.get(cellKey(event));
    deliveries += found?.length ?? 0;
    if (found === undefined || (taken.length > 0 && deliveries > most) || !mayJoin(event)) break;
    taken.push([event, found]);
  }
  return taken;
}

/** Key of a cell: all events of one cell go to the same webhooks. */
export function cellKey({ entityId, networkId, event }: Pick<NewEvent, 'entityId' | 'networkId' | 'event'>): string {
  return `${entityId} ${networkId} ${event}`;
}

/** The place of each delivery in the order of its key; null for a delivery without a key. */
export type Turns = (incoming: Incoming, receiver: Receiver) => Place | null;

export const WITHOUT_ORDER: Turns = () => null;

export type Order = {
  /** The events that get deliveries, or a task for them. */
  readonly accepted: readonly Incoming[];
  /** By the number of an event that was superseded on arrival: the id of the event that superseded it. */
  readonly supersededBy: ReadonlyMap<string, string>;
  readonly turns: Turns;
  /** Deliveries that are next in their order key, because one before them was superseded. */
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

export function roleOfEvent({
  event,
  agreementId = null,
  transferId = null,
  invoiceState = null,
}: NewEvent): Role | null {
  return roleOf(event, { agreementId, transferId }, invoiceState);
}

/** Which parts the events of one transaction have in the rules: none supersedes another, and a retraction is alone. */
export class Roles {
  readonly #kinds = new Map<string, string>();
  #size = 0;
  #isClosed = false;

  /** False if the event must begin another transaction. */
  add(event: NewEvent): boolean {
    const isAlone = event.retracts != null;
    if (this.#isClosed || (isAlone && this.#size > 0)) return false;
    this.#isClosed = isAlone;
    this.#size++;
    const role = roleOfEvent(event);
    if (role === null) return true;
    const name = `${event.entityId} ${role.subject}`;
    const known = this.#kinds.get(name);
    if (known !== undefined && known !== role.kind) return false;
    this.#kinds.set(name, role.kind);
    return true;
  }
}

/** How many deliveries to each destination could go out at once, if there were room for all of them. */
export function wantedSlots(accepted: readonly Incoming[], turns = WITHOUT_ORDER): Map<DestinationKey, number> {
  const wanted = new Map<DestinationKey, number>();
  for (const incoming of accepted) {
    if (incoming.event.firstDelayMs > 0) continue;
    for (const receiver of incoming.receivers) {
      const { destination, isBlocked } = receiver;
      if (!isBlocked && turns(incoming, receiver)?.isParked !== true)
        wanted.set(destination, (wanted.get(destination) ?? 0) + 1);
    }
  }
  return wanted;
}

/** `slots` is how many of them this process has room for; the first to come get them. */
export function planAcceptance(
  accepted: readonly Incoming[],
  slots: ReadonlyMap<DestinationKey, number>,
  moment: Moment,
  turns = WITHOUT_ORDER,
): AcceptancePlan {
  const free = new Map(slots);
  const plan: AcceptancePlan = { rows: [], dispatched: [], due: new Set() };
  for (const incoming of accepted) {
    // The clock may have been set back since the last event: an id never goes back, and the date goes with the id.
    const createdAtMs = timeOfHex(incoming.eventNo);
    for (const receiver of incoming.receivers) {
      const hex = deliveryHex(incoming.eventNo, receiver.webhookNo);
      const { entityId, firstDelayMs } = incoming.event;
      const { destination, isBlocked } = receiver;
      const dueMs = moment.nowMs + firstDelayMs;
      const row: QueuedDelivery = {
        entityId,
        hex,
        receiver,
        createdAtMs,
        dueMs,
        leaseMs: 0,
        sequence: null,
        claim: null,
        place: turns(incoming, receiver),
      };
      const isWaiting = isBlocked || row.place?.isParked === true;
      const room = isWaiting || firstDelayMs > 0 ? 0 : (free.get(destination) ?? 0);
      if (room > 0) {
        free.set(destination, room - 1);
        row.leaseMs = moment.nowMs + moment.leaseMs;
        row.claim = firstClaim(incoming, row, moment);
        plan.dispatched.push(row.claim);
      } else if (!isWaiting) plan.due.add(destination);
      plan.rows.push(row);
    }
  }
  return plan;
}

/**
 * The deliveries that a step of a task adds; they wait to be claimed. They are due now at the earliest, however old the
 * event is: claims read a head from a mark that follows the clock.
 */
export function planFanOut(
  task: { entityId: string; eventNo: string; round: number; dueMs: number },
  nowMs: number,
  receivers: readonly Receiver[],
  places: ReadonlyMap<Receiver, Place> = new Map(),
): QueuedDelivery[] {
  const { entityId, eventNo, round } = task;
  const dueMs = Math.max(task.dueMs, nowMs);
  return receivers.map((receiver) => ({
    entityId,
    hex: deliveryHex(eventNo, webhookOfHead(receiver.webhookNo), round),
    receiver,
    createdAtMs: timeOfHex(eventNo),
    dueMs,
    leaseMs: 0,
    sequence: null,
    place: places.get(receiver) ?? null,
    claim: null,
  }));
}

/** Acceptance counts as the first claim of a directly dispatched delivery. */
export const FIRST_TOKEN = 1;

function firstClaim({ event, eventNo }: Incoming, { receiver, hex, place }: QueuedDelivery, moment: Moment): Claimed {
  const { webhookNo, webhookId, postUrl, destination, endpointNo, generation, failingSinceMs, revision } = receiver;
  return {
    entityId: event.entityId,
    deliveryId: `dlv_${hex}`,
    token: FIRST_TOKEN,
    destination,
    eventId: event.eventId ?? `evt_${eventNo}`,
    webhookNo,
    webhookId,
    endpointNo,
    sequence: null,
    sequenceEndpointNo: endpointNo,
    orderKey: place?.orderKey ?? null,
    kind: 'first',
    status: 'pending',
    attempts: 0,
    mayBeReceived: false,
    steps: 0,
    generation,
    createdAtMs: timeOfHex(eventNo),
    postUrl,
    failingSinceMs,
    body: event.body,
    trace: event.trace ?? null,
    revision,
    acceptedAtMs: moment.acceptedAtMs,
    leaseEndsMs: moment.leaseEndsMs,
  };
}
