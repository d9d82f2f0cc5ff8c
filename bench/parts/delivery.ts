import { type Server, startPaybell, startProgram, tempFolder } from '../harness/processes.ts';
import { interleave, medianOf, medianRatio, type Sample, type Subject } from '../harness/rounds.ts';
import type { Tools } from '../harness/tools.ts';
import { runAmount, withCpu } from '../load/load.ts';
import { credentials } from '../load/measure-one-by-one.ts';
import { amount, higher, type PartResult } from '../report/report.ts';
import type { Caller } from '../store/seed.ts';

/** Events accepted and delivered, durable on SQLite, beside a loop that only signs and posts. */

export const API = '/api/v1/crypto';
const NETWORK = 8453;
const FAN_OUT = 10;
/** How many send events at the same time; with ten webhooks for each, fewer keep as much under way. */
const SENDERS = { one: 128, ten: 32 };
/** What is compiled while it runs gets faster over its first twenty-five thousand events. */
const WARM_UP = { one: 25_000, ten: 1_000, bareSeconds: 0.5 };
/** The default of DESTINATION_CONCURRENCY: the loop may have no more in flight at a receiver than Paybell may. */
const PER_DESTINATION = 16;
const QUIET_MS = 40;
const MAX_WAIT_MS = 120_000;

export type Received = { received: number; firstAtMs: number; lastAtMs: number; delaysMs: number[]; ports: number[] };

export async function benchDelivery({ mode, progress, profile }: Tools): Promise<PartResult> {
  const receiver = await startProgram('limits/receiver.ts', { ports: FAN_OUT }, 'load');
  const { ports } = await readReceiver(receiver);
  const urls = ports.map((port) => `http://127.0.0.1:${port}/hook`);
  const paybell = await startPaybell({
    settings: deliverySettings(`sqlite:${tempFolder()}/paybell.db`),
    profile: profile('delivery'),
  });
  const caller = firstCaller(paybell);
  await register(paybell, caller, 'TransferCreated', urls.slice(0, 1));
  await register(paybell, caller, 'TransferFinalized', urls);
  const input = { urls, concurrency: PER_DESTINATION, body: eventBody('TransferCreated') };
  const loop = await startProgram('limits/signed-requests.ts', input, 'subject');
  const amounts = mode.quick ? { one: 2_500, ten: 250 } : { one: 10_000, ten: 1_000 };

  const bare = (name: string, receivers: number): Subject => ({
    name,
    measure: () => postBare(loop, receivers, mode.deliverySeconds),
  });
  const deliverOne = (events: number) =>
    acceptAndDeliver({ paybell, receiver, caller, event: 'TransferCreated', events, webhooks: 1 });
  const deliverTen = (events: number) =>
    acceptAndDeliver({ paybell, receiver, caller, event: 'TransferFinalized', events, webhooks: FAN_OUT });
  const one = [
    bare('bare, one receiver', 1),
    { name: 'one webhook', measure: () => withCpu(paybell, () => deliverOne(amounts.one)) },
  ];
  const ten = [
    bare('bare, ten receivers', FAN_OUT),
    { name: 'ten webhooks', measure: () => withCpu(paybell, () => deliverTen(amounts.ten)) },
  ];
  // The first twice in every round: it is the nearest to its floor, and needs the surest figure.
  const subjects = [...one, ...ten, ...one];
  progress('warm-up');
  await deliverOne(WARM_UP.one);
  await deliverTen(WARM_UP.ten);
  for (const receivers of [1, FAN_OUT]) await postBare(loop, receivers, WARM_UP.bareSeconds);
  const rounds = await interleave(subjects, mode.deliveryRounds, progress);
  for (const server of [paybell, loop, receiver]) await server.stop();

  const rate = (name: string) => medianOf(rounds, name, 'perSecond');
  const row = (what: string, subject: string, limit: string, floor: number, target: number) => ({
    what,
    figures: `${amount(rate(subject))} ÷ ${amount(rate(limit))} posts/s`,
    check: higher(medianRatio(rounds, subject, limit, 'perSecond'), floor, target),
  });
  return {
    rows: [
      row('1 event to 1 webhook, SQLite, durable ÷ bare posts', 'one webhook', 'bare, one receiver', 0.2, 0.35),
      row('1 event to 10 webhooks, SQLite, durable ÷ bare posts', 'ten webhooks', 'bare, ten receivers', 0.4, 0.6),
    ],
    charts: [
      {
        name: 'delivery',
        title: 'Events accepted and delivered, durable, on SQLite',
        unit: 'posts a second on one core, from the first receipt to the last; longer is better',
        bars: [
          { label: 'bare signed posts, 1 receiver', value: rate('bare, one receiver'), note: 'the limit' },
          { label: 'Paybell, 1 event to 1 webhook', value: rate('one webhook') },
          { label: 'bare signed posts, 10 receivers', value: rate('bare, ten receivers'), note: 'the limit' },
          { label: 'Paybell, 1 event to 10 webhooks', value: rate('ten webhooks') },
        ],
      },
    ],
    raw: { delivery: rounds },
  };
}

/** Receivers on this machine are neither https nor public. */
export function deliverySettings(databaseUrl: string): Record<string, string> {
  return { DATABASE_URL: databaseUrl, ALLOW_INSECURE_TARGETS: 'true' };
}

export function firstCaller({ greeting }: Server): Caller {
  const entityId = /entity-id\s+(ent_\w+)/.exec(greeting)?.[1];
  const apiKey = /api-key\s+(pbk_\w+)/.exec(greeting)?.[1];
  if (entityId === undefined || apiKey === undefined) throw new Error('Paybell printed no first entity and key');
  return { entityId, apiKey };
}

export async function register(paybell: Server, caller: Caller, event: string, urls: readonly string[]): Promise<void> {
  for (const postUrl of urls) {
    const answer = await fetch(`${paybell.url}${API}/webhooks/classic`, {
      method: 'POST',
      headers: { ...credentials(caller), 'content-type': 'application/json' },
      body: JSON.stringify({ postUrl, networkIds: [NETWORK], events: [event] }),
    });
    if (answer.status !== 201) throw new Error(`registering ${postUrl} was answered with ${answer.status}`);
  }
}

/** As a payment system would send it; Paybell makes the id. */
export function eventBody(event: string): string {
  return JSON.stringify({
    event,
    networkId: NETWORK,
    sentAtMs: 0,
    transferId: 'trf_8412',
    amount: '25.00',
    currency: 'USDC',
  });
}

export async function readReceiver(receiver: Server, path = ''): Promise<Received> {
  return (await fetch(`${receiver.url}/${path}`)).json() as Promise<Received>;
}

async function postBare(loop: Server, receivers: number, seconds: number): Promise<Sample> {
  const answer = await fetch(`${loop.url}/?urls=${receivers}&seconds=${seconds}`);
  const result = (await answer.json()) as { perSecond: number; errors: number };
  if (result.errors > 0) throw new Error(`${result.errors} bare posts failed`);
  return result;
}

type Course = { paybell: Server; receiver: Server; caller: Caller; event: string; events: number; webhooks: number };

/** What counts is the time from the first receipt to the last, without the start of the load, and every post has to arrive once. */
async function acceptAndDeliver({ paybell, receiver, caller, event, events, webhooks }: Course) {
  const senders = webhooks === 1 ? SENDERS.one : SENDERS.ten;
  await readReceiver(receiver, 'reset');
  const startedAtMs = performance.timeOrigin + performance.now();
  const body = eventBody(event);
  const headers = { 'content-type': 'application/json' };
  const url = `${paybell.url}${API}/events`;
  await runAmount({ url, method: 'POST', headers, body, callers: [caller], connections: senders }, events);
  const acceptedS = (performance.timeOrigin + performance.now() - startedAtMs) / 1_000;
  const { received, firstAtMs, lastAtMs } = await untilQuiet(receiver, events * webhooks);
  // Requests that were under way at the end may have been accepted without anybody counting them.
  const most = (events + senders) * webhooks;
  if (received > most) throw new Error(`${received} posts arrived of at most ${most}`);
  const perSecond = (received - 1) / ((lastAtMs - firstAtMs) / 1_000);
  return { perSecond, acceptedPerSecond: events / acceptedS, operations: received };
}

async function untilQuiet(receiver: Server, expected: number): Promise<Received> {
  const deadlineMs = performance.now() + MAX_WAIT_MS;
  let before = await readReceiver(receiver);
  while (performance.now() < deadlineMs) {
    await Bun.sleep(QUIET_MS);
    const now = await readReceiver(receiver);
    if (now.received >= expected && now.received === before.received) return now;
    before = now;
  }
  throw new Error(`${before.received} of ${expected} posts arrived in time`);
}
