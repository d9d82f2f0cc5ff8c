import { SQL } from 'bun';
import { eventTemplates, KIND } from '../harness/event-bodies.ts';
import { API, type Caller, deliverySettings, firstCaller, register } from '../harness/paybell-api.ts';
import { type Place, type Server, type Settings, startPaybell } from '../harness/processes.ts';
import { postgresCpuSeconds } from '../harness/processor-time.ts';
import type { Sample } from '../harness/rounds.ts';
import { runAmount, withCpu } from '../load/load.ts';
import type { Load } from '../load/order.ts';
import type { CountingReceiver, Received } from './counting-receiver.ts';

/** A Paybell that is sent events for one webhook or for ten, until all of them have arrived. */

export const FAN_OUT = 10;
/** Longer than a stall of the disk: what comes later would be counted with the next measurement. */
const QUIET_MS = 150;
const MAX_WAIT_MS = 120_000;

export type Paybell = {
  readonly server: Server;
  readonly caller: Caller;
  /** A connection to its store, where that is PostgreSQL. */
  readonly sql: SQL | null;
};
/** A kind of event, the webhooks that are registered for it, and the requests that send such events at the same time. */
export type Route = { readonly event: string; readonly webhooks: number; readonly senders: number };
export const TO_ONE: Route = { event: KIND, webhooks: 1, senders: 128 };
/** With ten webhooks for each event, fewer senders keep as many deliveries in flight. */
export const TO_TEN: Route = { event: 'TransferFinalized', webhooks: FAN_OUT, senders: 32 };
/** The just-in-time compiler makes Paybell faster over its first twenty-five thousand events. */
export const WARM_UP = { one: 25_000, ten: 1_000 };

type Start = {
  readonly databaseUrl: string;
  readonly profile?: string | null;
  readonly checkout?: string;
  readonly place?: Place;
  readonly settings?: Settings;
};

/** A Paybell on an empty store, with the webhooks of both routes. */
export async function startReceiving(
  receiver: CountingReceiver,
  { databaseUrl, settings, ...options }: Start,
): Promise<Paybell> {
  const server = await startPaybell({ settings: { ...deliverySettings(databaseUrl), ...settings }, ...options });
  const caller = firstCaller(server);
  await register(server, caller, TO_ONE.event, receiver.urls.slice(0, 1));
  await register(server, caller, TO_TEN.event, receiver.urls.slice(0, FAN_OUT));
  return { server, caller, sql: databaseUrl.startsWith('postgres') ? new SQL(databaseUrl, { max: 1 }) : null };
}

export async function warmUp(paybell: Paybell, receiver: CountingReceiver): Promise<void> {
  await acceptAndDeliver(paybell, receiver, TO_ONE, WARM_UP.one);
  await acceptAndDeliver(paybell, receiver, TO_TEN, WARM_UP.ten);
}

export function acceptAndDeliver(
  { server, caller }: Paybell,
  receiver: CountingReceiver,
  route: Route,
  events: number,
) {
  const request = {
    url: `${server.url}${API}/events`,
    headers: { 'content-type': 'application/json' },
    bodies: eventTemplates(route.event),
    callers: [caller],
  };
  return sendAndDeliver(request, receiver, route, events);
}

/**
 * With the processor time of each delivery: of Paybell, and together with that of PostgreSQL. Only one Paybell may be busy at a
 * time, so that what PostgreSQL does is done for that one.
 */
export async function acceptAndDeliverWithCpu(
  paybell: Paybell,
  ...work: Parameters<typeof acceptAndDeliver> extends [Paybell, ...infer Rest] ? Rest : never
): Promise<Sample> {
  const { server, sql } = paybell;
  const ofPostgres = async () => (sql === null ? 0 : ((await postgresCpuSeconds(sql)) ?? Number.NaN));
  const beforeS = await ofPostgres();
  const sample = await withCpu(server, () => acceptAndDeliver(paybell, ...work));
  const postgresMicroseconds = (((await ofPostgres()) - beforeS) / (sample.operations ?? 0)) * 1e6;
  return { ...sample, allCpuMicroseconds: (sample.cpuMicroseconds ?? Number.NaN) + postgresMicroseconds };
}

/** The rate is from the first delivery to the last, without the start of the load; each delivery has to arrive once. */
export async function sendAndDeliver(
  request: Pick<Load, 'url' | 'headers' | 'bodies' | 'callers'>,
  receiver: CountingReceiver,
  { webhooks, senders }: Route,
  events: number,
  quietMs = QUIET_MS,
) {
  await receiver.reset();
  const startedAtMs = performance.now();
  await runAmount({ ...request, method: 'POST', connections: senders }, events);
  const acceptedS = (performance.now() - startedAtMs) / 1_000;
  const { received, firstAtMs, lastAtMs } = await untilQuiet(receiver, events * webhooks, quietMs);
  // The generator does not count the requests in flight at its end, but they may have been accepted.
  const most = (events + senders) * webhooks;
  if (received > most) throw new Error(`${received} deliveries arrived of at most ${most}`);
  const perSecond = (received - 1) / ((lastAtMs - firstAtMs) / 1_000);
  return { perSecond, acceptedPerSecond: events / acceptedS, operations: received };
}

async function untilQuiet(receiver: CountingReceiver, expected: number, quietMs: number): Promise<Received> {
  const deadlineMs = performance.now() + MAX_WAIT_MS;
  let before = await receiver.read();
  while (performance.now() < deadlineMs) {
    await Bun.sleep(quietMs);
    const now = await receiver.read();
    if (now.received >= expected && now.received === before.received) return now;
    before = now;
  }
  throw new Error(`${before.received} of ${expected} deliveries arrived in time`);
}
