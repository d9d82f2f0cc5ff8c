import { RETRACTION } from '../../../src/domain/event-kinds.ts';
import { ruleAmountOf } from '../fleet/amounts.ts';
import type { Network } from '../fleet/network.ts';
import { isAnswered, openSpan, type Span } from '../model/history.ts';
import { type EventModel, PAID, type PaymentModel, POSTED } from '../model/model.ts';
import type { Simulation } from '../simulation.ts';
import type { Random } from '../world/random.ts';
import { world } from '../world/world.ts';
import type { Actions, Operation } from './operation.ts';

/** Events that senders publish, hold and retract. */

const AGREEMENTS = 2;
const AGREEMENT_SHARE = 0.7;
const AMOUNTS = [50, 150];
/** Events that may still be retracted: the latest ones, whose deliveries are under way. */
const RETRACTABLE = 6;
const MINED_AT_ONCE = 0.7;

function send(simulation: Simulation, draw: Random, event: EventModel, span: Span): void {
  const { eventId, event: kind, body, agreementId, payment } = event;
  const { entityId, network } = simulation;
  simulation.request(
    draw,
    async ({ acceptQueue }) => {
      await acceptQueue.accept({
        ...{ entityId, eventId, event: kind, networkId: network.networkId, body, agreementId },
        ...{ heldFor: payment?.transaction.hash ?? null, firstDelayMs: 0 },
      });
      world.note(`accepted ${eventId}`);
    },
    { span },
  );
}

function newEvent(
  network: Network,
  draw: Random,
  eventId: string,
  kind: string,
  held: Omit<PaymentModel, 'ruleAmount'> | null,
): EventModel {
  const amount = draw.pick(AMOUNTS) ?? 0;
  const { networkId } = network;
  const paid = network.paymentOf(amount);
  const payment = held === null ? null : { ...held, ruleAmount: ruleAmountOf(networkId, paid) };
  const agreementId = payment === null && draw.chance(AGREEMENT_SHARE) ? `agreement-${draw.below(AGREEMENTS)}` : null;
  const body = JSON.stringify({
    ...{ eventId, event: kind, networkId, ...paid },
    ...(agreementId !== null && { agreementId }),
  });
  const acceptance = openSpan(world.nowMs);
  return { eventId, event: kind, body, amount, agreementId, acceptance, repetitions: [], payment, retraction: null };
}

function post(simulation: Simulation, draw: Random, { index }: Operation) {
  const event = newEvent(simulation.network, draw, `e${index}`, draw.pick([POSTED[0] ?? '', ...POSTED]) ?? '', null);
  simulation.model.events.push(event);
  send(simulation, draw, event, event.acceptance);
  return { eventId: event.eventId };
}

/** The sender repeats a request, because it got no answer or by mistake. */
function repeat(simulation: Simulation, draw: Random) {
  const event = draw.pick(simulation.model.events.slice(-RETRACTABLE));
  if (event === undefined) return null;
  // An answer to the repetition says that the first request was carried out, too.
  const span = isAnswered(event.acceptance) ? openSpan(world.nowMs) : event.acceptance;
  if (span !== event.acceptance) event.repetitions.push(span);
  send(simulation, draw, event, span);
  return { eventId: event.eventId, ...(event.payment !== null && { payment: event.payment.name }) };
}

function hold(simulation: Simulation, draw: Random, { index }: Operation) {
  const { model, network } = simulation;
  const held = {
    name: `h${index}`,
    transaction: network.newTransaction(),
    contract: null,
    minedAtMs: Number.POSITIVE_INFINITY,
    heldEventId: `h${index}`,
  };
  const event = newEvent(network, draw, held.heldEventId, PAID, held);
  const { payment } = event;
  if (payment === null) return null;
  model.payments.push(payment);
  model.events.push(event);
  if (draw.chance(MINED_AT_ONCE)) {
    network.append([payment.transaction]);
    payment.minedAtMs = world.nowMs;
  }
  send(simulation, draw, event, event.acceptance);
  return { eventId: event.eventId, payment: payment.name };
}

function retract(simulation: Simulation, draw: Random) {
  const retractable = simulation.model.events
    .filter(({ acceptance, payment, retraction }) => isAnswered(acceptance) && payment === null && retraction === null)
    .slice(-RETRACTABLE);
  const event = draw.pick(retractable);
  if (event === undefined) return null;
  const retraction = { eventId: `${event.eventId}-retracted`, acceptance: openSpan(world.nowMs) };
  event.retraction = retraction;
  const { eventId, event: kind } = event;
  const { entityId } = simulation;
  const { networkId } = simulation.network;
  const retracts = { eventId, event: kind };
  const body = JSON.stringify({ eventId: retraction.eventId, event: RETRACTION, networkId, retracts });
  simulation.request(
    draw,
    async ({ acceptQueue }) => {
      await acceptQueue.accept({
        ...{ entityId, eventId: retraction.eventId, event: RETRACTION, networkId },
        ...{ body, retracts: eventId, firstDelayMs: 0 },
      });
      world.note(`accepted ${retraction.eventId}`);
    },
    {
      span: retraction.acceptance,
      onRejected: () => {
        event.retraction = null;
      },
    },
  );
  return { eventId };
}

export const EVENT_ACTIONS: Actions = {
  post: { weight: 26, begin: post },
  repeat: { weight: 2, begin: repeat },
  hold: { weight: 4, begin: hold },
  retract: { weight: 6, begin: retract },
};
