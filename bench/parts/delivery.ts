import { type CountingReceiver, type Received, startCountingReceiver } from '../delivery/counting-receiver.ts';
import { API, type Caller, deliverySettings, eventBody, firstCaller, register } from '../harness/paybell-api.ts';
import { type Server, startPaybell, startProgram, tempFolder } from '../harness/processes.ts';
import { interleave, medianOf, medianRatio, type Rounds, type Sample, type Subject } from '../harness/rounds.ts';
import type { Tools } from '../harness/tools.ts';
import { runAmount, withCpu } from '../load/load.ts';
import { amount, higher, type PartResult } from '../report/report.ts';

/** Events accepted and delivered, durable on SQLite, compared with a loop that only signs and sends. */

const FAN_OUT = 10;
/** A kind of event, the webhooks that are registered for it, and the requests that send such events at the same time. */
type Route = { readonly event: string; readonly webhooks: number; readonly senders: number };
const TO_ONE: Route = { event: 'TransferCreated', webhooks: 1, senders: 128 };
/** With ten webhooks for each event, fewer senders keep as many deliveries in flight. */
const TO_TEN: Route = { event: 'TransferFinalized', webhooks: FAN_OUT, senders: 32 };
/** The just-in-time compiler makes Paybell faster over its first twenty-five thousand events. */
const WARM_UP = { one: 25_000, ten: 1_000, bareSeconds: 0.5 };
/** The default of DESTINATION_CONCURRENCY: the loop has no more requests in flight at a receiver than Paybell. */
const PER_DESTINATION = 16;
const QUIET_MS = 40;
const MAX_WAIT_MS = 120_000;

type Setup = {
  readonly paybell: Server;
  readonly caller: Caller;
  readonly receiver: CountingReceiver;
  /** The loop that only signs and sends. */
  readonly bare: Server;
};

export async function benchDelivery({ mode, progress, profile }: Tools): Promise<PartResult> {
  const setup = await start(profile('delivery'));
  const bare = (name: string, receivers: number): Subject => ({
    name,
    measure: () => sendBare(setup.bare, receivers, mode.deliverySeconds),
  });
  const delivered = (name: string, route: Route, events: number): Subject => ({
    name,
    measure: () => withCpu(setup.paybell, () => acceptAndDeliver(setup, route, events)),
  });
  const events = mode.quick ? { one: 2_500, ten: 250 } : { one: 10_000, ten: 1_000 };
  const one = [bare('bare, one receiver', 1), delivered('one webhook', TO_ONE, events.one)];
  const ten = [bare('bare, ten receivers', FAN_OUT), delivered('ten webhooks', TO_TEN, events.ten)];
  // The first pair twice in every round: its ratio is the nearest to its floor and has to be the most exact.
  const subjects = [...one, ...ten, ...one];
  progress('warm-up');
  await acceptAndDeliver(setup, TO_ONE, WARM_UP.one);
  await acceptAndDeliver(setup, TO_TEN, WARM_UP.ten);
  for (const receivers of [1, FAN_OUT]) await sendBare(setup.bare, receivers, WARM_UP.bareSeconds);
  const rounds = await interleave(subjects, mode.deliveryRounds, progress);
  for (const server of [setup.paybell, setup.bare, setup.receiver]) await server.stop();
  return report(rounds);
}

async function start(profile: string | null): Promise<Setup> {
  const receiver = await startCountingReceiver(FAN_OUT);
  const settings = deliverySettings(`sqlite:${tempFolder()}/paybell.db`);
  const paybell = await startPaybell({ settings, profile });
  const caller = firstCaller(paybell);
  await register(paybell, caller, TO_ONE.event, receiver.urls.slice(0, 1));
  await register(paybell, caller, TO_TEN.event, receiver.urls);
  const input = { urls: receiver.urls, concurrency: PER_DESTINATION, body: eventBody(TO_ONE.event) };
  const bare = await startProgram('limits/signed-requests-process.ts', input, 'subject');
  return { paybell, caller, receiver, bare };
}

function report(rounds: Rounds): PartResult {
  const rate = (name: string) => medianOf(rounds, name, 'perSecond');
  const row = (what: string, subject: string, limit: string, floor: number, target: number) => ({
    what,
    figures: `${amount(rate(subject))} ÷ ${amount(rate(limit))} requests/s`,
    check: higher(medianRatio(rounds, subject, limit, 'perSecond'), floor, target),
  });
  return {
    rows: [
      row('1 event to 1 webhook, SQLite, durable ÷ bare requests', 'one webhook', 'bare, one receiver', 0.2, 0.35),
      row('1 event to 10 webhooks, SQLite, durable ÷ bare requests', 'ten webhooks', 'bare, ten receivers', 0.4, 0.6),
    ],
    charts: [
      {
        name: 'delivery',
        title: 'Events accepted and delivered, durable, on SQLite',
        unit: 'requests a second on one core, from the first received to the last; longer is better',
        bars: [
          { label: 'bare signed requests, 1 receiver', value: rate('bare, one receiver'), note: 'the limit' },
          { label: 'Paybell, 1 event to 1 webhook', value: rate('one webhook') },
          { label: 'bare signed requests, 10 receivers', value: rate('bare, ten receivers'), note: 'the limit' },
          { label: 'Paybell, 1 event to 10 webhooks', value: rate('ten webhooks') },
        ],
      },
    ],
    raw: { delivery: rounds },
  };
}

async function sendBare(loop: Server, receivers: number, seconds: number): Promise<Sample> {
  const response = await fetch(`${loop.url}/?urls=${receivers}&seconds=${seconds}`);
  const result = (await response.json()) as { perSecond: number; errors: number };
  if (result.errors > 0) throw new Error(`${result.errors} bare requests failed`);
  return result;
}

/** The rate is from the first delivery to the last, without the start of the load; each delivery has to arrive once. */
async function acceptAndDeliver(
  { paybell, receiver, caller }: Setup,
  { event, webhooks, senders }: Route,
  events: number,
) {
  await receiver.reset();
  const startedAtMs = performance.now();
  const body = eventBody(event);
  const headers = { 'content-type': 'application/json' };
  const url = `${paybell.url}${API}/events`;
  await runAmount({ url, method: 'POST', headers, body, callers: [caller], connections: senders }, events);
  const acceptedS = (performance.now() - startedAtMs) / 1_000;
  const { received, firstAtMs, lastAtMs } = await untilQuiet(receiver, events * webhooks);
  // The generator does not count the requests in flight at its end, but Paybell may have accepted them.
  const most = (events + senders) * webhooks;
  if (received > most) throw new Error(`${received} deliveries arrived of at most ${most}`);
  const perSecond = (received - 1) / ((lastAtMs - firstAtMs) / 1_000);
  return { perSecond, acceptedPerSecond: events / acceptedS, operations: received };
}

async function untilQuiet(receiver: CountingReceiver, expected: number): Promise<Received> {
  const deadlineMs = performance.now() + MAX_WAIT_MS;
  let before = await receiver.read();
  while (performance.now() < deadlineMs) {
    await Bun.sleep(QUIET_MS);
    const now = await receiver.read();
    if (now.received >= expected && now.received === before.received) return now;
    before = now;
  }
  throw new Error(`${before.received} of ${expected} deliveries arrived in time`);
}
