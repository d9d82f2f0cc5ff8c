import { deliveryHex, timeOfHex } from '../../domain/ids.ts';
import type { DestinationKey } from '../../domain/post-url.ts';
import { StoreUnavailableError } from '../database/database.ts';
import type { Claimed, DirectDispatch } from '../deliveries/claim/claimed.ts';
import type { Place } from '../deliveries/order/order-keys.ts';
import { FIRST_TOKEN, type QueuedDelivery } from '../deliveries/queued.ts';
import { webhookOfHead } from '../deliveries/retraction-heads.ts';
import {
  type AcceptancePlan,
  type AcceptanceRun,
  type AcceptedGroup,
  cellKey,
  type Incoming,
  isSameCell,
  type NewEvent,
  type Receiver,
  roleOfEvent,
  WITHOUT_ORDER,
} from './acceptance.ts';

/** The plan of an acceptance, without statements: which rows an event becomes, which deliveries are sent at once, and which are due. */

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
 * Takes the first events that fit into one transaction. The first event always fits: a task creates its remaining deliveries. An
 * event that may not join the events before it begins the next transaction.
 */
export function cutByDeliveries(
  events: readonly NewEvent[],
  receivers: ReadonlyMap<string, readonly Receiver[]>,
  most: number,
  mayJoin: (event: NewEvent) => boolean = () => true,
): [NewEvent, readonly Receiver[]][] {
  const taken: [NewEvent, readonly Receiver[]][] = [];
  let deliveries = 0;
  let last: NewEvent | undefined;
  let found: readonly Receiver[] | undefined;
  for (const event of events) {
    if (last === undefined || !isSameCell(event, last)) found = receivers.get(cellKey(event));
    last = event;
    deliveries += found?.length ?? 0;
    if (found === undefined || (taken.length > 0 && deliveries > most) || !mayJoin(event)) break;
    taken.push([event, found]);
  }
  return taken;
}

/** The roles of the events in one transaction. None of them supersedes another, and a retraction is alone. */
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

/** Plans the deliveries, and takes slots for the deliveries that this process dispatches. */
export async function planDispatch(run: AcceptanceRun): Promise<void> {
  const { group, directDispatch, startedMs } = run;
  const { accepted, turns } = run.order;
  if (directDispatch !== null) reserveSlots(group, directDispatch, wantedSlots(accepted, turns));
  const leaseMs = directDispatch?.leaseMs ?? 0;
  const moment = { nowMs: group.nowMs, leaseMs, acceptedAtMs: Date.now(), leaseEndsMs: startedMs + leaseMs };
  run.plan = planAcceptance(accepted, group.slots, moment, turns);
}

/** Notes only destinations at which slots were taken, because only these slots must be freed. */
function reserveSlots(
  { slots, isOver }: AcceptedGroup,
  directDispatch: DirectDispatch,
  wanted: ReadonlyMap<DestinationKey, number>,
): void {
  if (isOver) throw new StoreUnavailableError('the transaction is past its deadline');
  for (const [destination, most] of wanted) {
    const reserved = directDispatch.reserve(destination, most);
    if (reserved > 0) slots.set(destination, reserved);
  }
}

/** How many deliveries to each destination could be sent at once with enough slots. */
function wantedSlots(accepted: readonly Incoming[], turns = WITHOUT_ORDER): Map<DestinationKey, number> {
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

/** `slots` is the number of slots that this process has taken at each destination. The first deliveries get them. */
function planAcceptance(
  accepted: readonly Incoming[],
  slots: ReadonlyMap<DestinationKey, number>,
  moment: Moment,
  turns = WITHOUT_ORDER,
): AcceptancePlan {
  const free = new Map(slots);
  const plan: AcceptancePlan = { rows: [], dispatched: [], due: new Set() };
  for (const incoming of accepted) {
    // The date of a delivery is the time in its event's number, which never goes back, even if the clock is set back.
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
        row.claim = firstClaim(incoming, receiver, row, moment);
        plan.dispatched.push(row.claim);
      } else if (!isWaiting) plan.due.add(destination);
      plan.rows.push(row);
    }
  }
  return plan;
}

/**
 * The deliveries that a step of a task adds. They wait for a claim. They are due now at the earliest, however old the event is,
 * because claims read a head from a mark that follows the clock.
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

function firstClaim(
  { event, eventNo }: Incoming,
  receiver: Receiver,
  { hex, place, createdAtMs }: QueuedDelivery,
  moment: Moment,
): Claimed {
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
    createdAtMs,
    postUrl,
    failingSinceMs,
    body: event.body,
    trace: event.trace ?? null,
    revision,
    acceptedAtMs: moment.acceptedAtMs,
    leaseEndsMs: moment.leaseEndsMs,
  };
}
