import { DomainError } from '../../domain/errors.ts';
import type { EventNumbers } from '../../domain/ids.ts';
import { HeldLimits } from '../chain/held/held-limit.ts';
import { holdEvents } from '../chain/held/hold.ts';
import type { Dialect, Queries } from '../database/database.ts';
import type { DirectDispatch } from '../deliveries/claim/claimed.ts';
import { countAccepted } from '../deliveries/counts/count-accepted.ts';
import { CountChanges } from '../deliveries/counts/counts.ts';
import { insertDeliveries } from '../deliveries/queued.ts';
import { queueForSessions } from '../listen/queue-events.ts';
import { eventNumbers } from '../new-id.ts';
import { finalityAsOf } from '../webhooks/option-changes.ts';
import {
  type Acceptance,
  type AcceptanceRun,
  type AcceptanceStep,
  type AcceptedGroup,
  emptyGroup,
  type Incoming,
  type NewEvent,
  type Order,
  type Receiver,
  type Rest,
  withoutOrder,
} from './acceptance.ts';
import { repeatAcceptance } from './event-ids.ts';
import { startFanOuts } from './fan-out-task.ts';
import { countReceivers, wantedBy } from './filtering.ts';
import { insertEvents } from './insert.ts';
import { orderDeliveries } from './order.ts';
import { cutByDeliveries, planDispatch, Roles } from './plan-acceptance.ts';
import { findReceivers } from './receivers.ts';
import { outdateReturned } from './retraction/outdate.ts';
import { findRetracted, startRetractions } from './retraction/retraction.ts';

/** Acceptance: an event and one delivery for each matching webhook, in one transaction. */

/** Decides about each event, and stores the new events. */
const DECIDE: readonly AcceptanceStep[] = [
  findReceivers,
  numberAndFilter,
  insertEvents,
  outdateReturned,
  orderDeliveries,
  addResults,
];

/** Stores what follows from the new events. Sequence numbers come last, because other instances wait for their counters. */
const STORE: readonly AcceptanceStep[] = [
  holdEvents,
  startRetractions,
  startFanOuts,
  planDispatch,
  countAccepted,
  insertPlanned,
  queueForSessions,
];

/**
 * Accepts a whole group in a handful of statements. No statement can fail because of the content of one event. Each event gets
 * its own result: an acceptance, or its own error.
 */
export async function acceptEvents(
  queries: Queries,
  dialect: Dialect,
  given: readonly NewEvent[],
  directDispatch: DirectDispatch | null = null,
  group: AcceptedGroup = emptyGroup(),
  numbers: EventNumbers = eventNumbers,
): Promise<AcceptedGroup> {
  const run: AcceptanceRun = {
    ...{ queries, dialect, directDispatch, numbers, group, events: ofOneTransaction(dialect, given) },
    ...{ startedMs: performance.now(), changes: new CountChanges(dialect, 'acceptance') },
    ...{ receivers: new Map(), isListened: false, incoming: [], added: [], outdated: [] },
    ...{ order: withoutOrder([]), plan: { rows: [], dispatched: [], due: new Set() } },
  };
  for (const step of DECIDE) await step(run);
  if (run.order.accepted.length === 0) return group;
  for (const step of STORE) await step(run);
  announce(run);
  return group;
}

/**
 * Numbers the first events, as many as one transaction has room for, and leaves out the webhooks that do not want them. If an
 * event supersedes an earlier event of the group, or the earlier event would supersede it, it begins the next group.
 */
async function numberAndFilter(run: AcceptanceRun): Promise<void> {
  const { queries, dialect, events, group, numbers } = run;
  const roles = new Roles();
  const incoming: Incoming[] = [];
  const most = dialect.limits.deliveries;
  const heldLimits = new HeldLimits(queries, dialect, events);
  for (const [event, found] of cutByDeliveries(events, run.receivers, most, (one) => roles.add(one))) {
    const eventNo = numbers.next(group.nowMs);
    const hasReceivers = event.retracts == null && event.heldFor == null;
    if (!hasReceivers) incoming.push(await withoutReceivers(queries, dialect, event, eventNo, heldLimits));
    else if (isForAll(event, found, most)) {
      incoming.push({ event, eventNo, receivers: found, deliveries: found.length, rest: null });
    } else incoming.push(await withReceivers(run, event, eventNo, found));
  }
  run.incoming = incoming;
}

/** Whether one transaction has room for the event's deliveries, and no filter or finality leaves a webhook out. */
function isForAll(event: NewEvent, found: readonly Receiver[], most: number): boolean {
  return event.finality == null && found.length <= most && found.every(({ filterHash }) => filterHash === null);
}

async function withReceivers(
  { queries, dialect }: AcceptanceRun,
  event: NewEvent,
  eventNo: string,
  found: readonly Receiver[],
): Promise<Incoming> {
  const current = found.slice(0, dialect.limits.deliveries);
  const part = await asFirstSeen(queries, event, current);
  // Whether a task follows depends on the webhooks that were read, because a count is another statement and may disagree.
  const rest = found.length > part.length ? restAfter(part) : null;
  const isSelective = event.finality != null || part.some(({ filterHash }) => filterHash !== null);
  const wanting = isSelective ? await wantedBy(queries, event, part) : part;
  const deliveries = rest === null ? wanting.length : await countReceivers(queries, event);
  return { event, eventNo, receivers: wanting, deliveries, rest };
}

/** Gives each webhook the finality that it had when the payment was first seen. */
async function asFirstSeen(
  queries: Queries,
  { entityId, finality, seenRevision }: NewEvent,
  receivers: readonly Receiver[],
): Promise<readonly Receiver[]> {
  if (finality == null || seenRevision == null) return receivers;
  return finalityAsOf(queries, entityId, seenRevision, receivers);
}

function restAfter(part: readonly Receiver[]): Rest {
  const last = part.at(-1);
  return { afterNo: last?.webhookNo ?? 0, revision: last?.registryRevision ?? 0 };
}

/** The events of one transaction: all of them, or the first events of one entity if the tables are distributed. */
function ofOneTransaction({ isDistributed }: Dialect, events: readonly NewEvent[]): readonly NewEvent[] {
  const end = isDistributed ? events.findIndex(({ entityId }) => entityId !== events[0]?.entityId) : -1;
  return end === -1 ? events : events.slice(0, end);
}

/**
 * Takes an event whose deliveries are created later: a task creates the deliveries of a retraction, and a held event gets
 * deliveries when its transaction reaches the finality of each webhook.
 */
async function withoutReceivers(
  queries: Queries,
  dialect: Dialect,
  event: NewEvent,
  eventNo: string,
  heldLimits: HeldLimits,
): Promise<Incoming> {
  const none = { event, eventNo, receivers: [], deliveries: 0, rest: null };
  if (event.retracts == null) {
    const rejected = await heldLimits.rejectionOf(event);
    return rejected === undefined ? none : { ...none, rejected };
  }
  const retracted = await findRetracted(queries, dialect, event);
  if (retracted instanceof DomainError) return { ...none, rejected: retracted };
  return { ...none, deliveries: retracted.receivers, retracted };
}

async function insertPlanned({ queries, dialect, plan, order, changes }: AcceptanceRun): Promise<void> {
  const { accepted: events, promoted } = order;
  await insertDeliveries(queries, dialect, plan.rows, { events, promoted, changes });
}

/** Gives the caller what it needs once the transaction is committed. */
function announce({ group, plan, order }: AcceptanceRun): void {
  for (const { destination } of order.promoted) plan.due.add(destination);
  group.dispatched = plan.dispatched;
  group.due = plan.due;
  for (const { event, receivers: found } of order.accepted) {
    const destinations = found.map(({ destination }) => destination);
    group.destinations.push({ entityId: event.entityId, destinations });
  }
}

async function addResults({ queries, dialect, incoming, added, order, group }: AcceptanceRun): Promise<void> {
  const fresh = new Set(added);
  for (const one of incoming) {
    group.results.push(
      fresh.has(one) ? resultOf(one, order) : (one.rejected ?? (await repeatAcceptance(queries, dialect, one.event))),
    );
  }
}

function resultOf({ event, eventNo, deliveries }: Incoming, { supersededBy }: Order): Acceptance {
  const eventId = event.eventId ?? `evt_${eventNo}`;
  const by = supersededBy.get(eventNo);
  return by === undefined
    ? { eventId, deliveries, supersededBy: null, repeated: false }
    : { eventId, deliveries: 0, supersededBy: by, repeated: false };
}
