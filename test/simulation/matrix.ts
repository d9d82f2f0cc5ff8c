import { type EventModel, PAID, type PaymentModel } from './model/model.ts';
import type { Evidence } from './oracle/evidence.ts';
import type { Occurrence } from './simulation.ts';

/**
 * How often two operations or faults met within one event or payment: both happened between its beginning and the last request
 * about it, and both concerned it.
 */

/** By the names of two operations, in alphabetical order. */
export type Pairs = Readonly<Record<string, number>>;

/** An event or a payment without any request is looked at for this long. */
const LEAST_LIFE_MS = 5_000;

type Life = {
  readonly kind: string;
  readonly eventId: string | null;
  readonly payment: string | null;
  readonly startMs: number;
  readonly endMs: number;
};

export function pairKey(a: string, b: string): string {
  return a < b ? `${a} ${b}` : `${b} ${a}`;
}

export function pairsOf(evidence: Evidence): Pairs {
  const pairs: Record<string, number> = {};
  const { occurrences } = evidence.simulation;
  for (const life of livesOf(evidence)) {
    const names = occurrences.filter((one) => concerns(evidence, one, life)).map(({ name }) => name);
    const distinct = [...new Set(names)].sort();
    for (const [at, name] of distinct.entries()) {
      for (const other of distinct.slice(at + 1)) add(pairs, pairKey(name, other));
    }
  }
  return pairs;
}

function add(pairs: Record<string, number>, key: string): void {
  pairs[key] = (pairs[key] ?? 0) + 1;
}

function livesOf(evidence: Evidence): Life[] {
  const { events, payments } = evidence.model;
  const held = new Map(events.map((event) => [event.eventId, event]));
  return [
    ...events.filter(({ payment }) => payment === null).map((event) => lifeOfEvent(evidence, event)),
    ...payments.map((payment) => lifeOfPayment(evidence, payment, held.get(payment.heldEventId ?? ''))),
  ];
}

function lifeOfEvent({ simulation }: Evidence, { eventId, event, acceptance, retraction }: EventModel): Life {
  const ids = [eventId, retraction?.eventId];
  const times = simulation.receivers.receipts.filter((one) => ids.includes(one.eventId)).map(({ atMs }) => atMs);
  const { startMs } = acceptance;
  return { kind: event, eventId, payment: null, startMs, endMs: Math.max(startMs + LEAST_LIFE_MS, ...times) };
}

function lifeOfPayment(evidence: Evidence, payment: PaymentModel, held: EventModel | undefined): Life {
  const { name, minedAtMs, heldEventId: eventId } = payment;
  const prefixes = evidence.factsOf(payment).map(({ factId }) => `${factId}_`);
  const isAbout = (id: string) => id === eventId || prefixes.some((prefix) => id.startsWith(prefix));
  const receipts = evidence.simulation.receivers.receipts.filter((one) => isAbout(one.eventId));
  const startMs = Math.min(minedAtMs, held?.acceptance.startMs ?? minedAtMs);
  const endMs = Math.max(startMs + LEAST_LIFE_MS, ...receipts.map(({ atMs }) => atMs));
  return { kind: PAID, eventId, payment: name, startMs, endMs };
}

function concerns({ model }: Evidence, { atMs, scope }: Occurrence, life: Life): boolean {
  if (atMs < life.startMs || atMs > life.endMs) return false;
  const { eventId, payment, webhook, postUrl } = scope;
  if (eventId !== undefined || payment !== undefined) {
    return (eventId !== undefined && eventId === life.eventId) || (payment !== undefined && payment === life.payment);
  }
  const webhooks = model.webhooks.filter(({ event }) => event === life.kind);
  if (webhook !== undefined) return webhooks.some(({ name }) => name === webhook);
  if (postUrl === undefined) return true;
  return webhooks.some((one) => one.postUrl.possible(life.startMs, life.endMs).includes(postUrl));
}

/** The pairs of these operations that never met. */
export function emptyCells(names: readonly string[], pairs: Pairs): [string, string][] {
  const sorted = names.toSorted();
  return sorted.flatMap((name, at) =>
    sorted
      .slice(at + 1)
      .filter((other) => (pairs[pairKey(name, other)] ?? 0) === 0)
      .map((other): [string, string] => [name, other]),
  );
}

export function sumPairs(all: readonly Pairs[]): Pairs {
  const sum: Record<string, number> = {};
  for (const pairs of all) for (const [key, count] of Object.entries(pairs)) sum[key] = (sum[key] ?? 0) + count;
  return sum;
}
