import { awaitArrival, type CountingReceiver, startCountingReceiver } from '../delivery/counting-receiver.ts';
import { eventBody, eventTemplates, KIND } from '../harness/event-bodies.ts';
import {
  API,
  type Caller,
  credentials,
  deliverySettings,
  firstCaller,
  LIST_PATH,
  register,
} from '../harness/paybell-api.ts';
import { createPostgresDatabase } from '../harness/postgres.ts';
import { type Server, startPaybell, tempFolder } from '../harness/processes.ts';
import { interleave, medianOf, quantile, type Rounds, type Sample, type Subject } from '../harness/rounds.ts';
import type { Tools } from '../harness/tools.ts';
import { startBareServer } from '../limits/bare-server.ts';
import { sendPaced } from '../load/paced.ts';
import { type TimedRequest, timeEach } from '../load/sequential.ts';
import { lower, type PartResult, type Row } from '../report/report.ts';

/**
 * The latency for one caller without other load: of a list, of an acceptance, and until the delivery arrives. And that of an
 * acceptance at a fixed rate.
 */

const PAUSE_MS = 2;
const WEBHOOKS = 100;
const PER_SECOND = 1_000;
const PACED_S = 3;
const MAX_ARRIVE_MS = 30_000;
const MAX_P99_MS = 10;
const TARGET_P99_MS = 3;
const STORES = ['SQLite', 'PostgreSQL'] as const;

export async function benchLatency({ mode, progress, profile }: Tools): Promise<PartResult> {
  const receiver = await startCountingReceiver(1);
  const databaseUrls = { SQLite: `sqlite:${tempFolder()}/paybell.db`, PostgreSQL: await createPostgresDatabase() };
  const servers: Pick<Server, 'stop'>[] = [receiver];
  const subjects: Subject[] = [];
  for (const store of STORES) {
    const settings = deliverySettings(databaseUrls[store]);
    const paybell = await startPaybell({ settings, profile: profile(`latency-${store}`) });
    servers.push(paybell);
    const caller = firstCaller(paybell);
    await register(paybell, caller, KIND, receiver.urls);
    const others = Array.from({ length: WEBHOOKS }, (_, index) => `https://example.com/hooks/${index}`);
    await register(paybell, caller, 'LatePayment', others);
    if (store === 'SQLite') {
      const bare = await startBareServer(paybell, caller);
      servers.push(bare);
      subjects.push(listSubject('bare server', bare, caller, mode.latencyRequests));
    }
    subjects.push(listSubject(`list, ${store}`, paybell, caller, mode.latencyRequests));
    subjects.push(eventSubject(`event, ${store}`, paybell, receiver, mode.latencyRequests));
    subjects.push(pacedSubject(`paced, ${store}`, paybell, receiver));
  }
  progress('warm-up');
  for (const { measure } of subjects) await measure(0);
  const rounds = await interleave(subjects, mode.quick ? 1 : mode.rounds, progress);
  await Promise.all(servers.map((server) => server.stop()));
  return report(rounds);
}

function report(rounds: Rounds): PartResult {
  const rows = [
    row(rounds, 'one list request, bare server', 'bare server', 'response'),
    ...STORES.map((store) => row(rounds, `one list, ${store}`, `list, ${store}`, 'response')),
    ...STORES.flatMap((store) => [
      row(rounds, `one event accepted, durable, ${store}`, `event, ${store}`, 'response'),
      row(rounds, `one event, from sent to received, ${store}`, `event, ${store}`, 'delivery'),
    ]),
    ...STORES.map((store) => pacedRow(rounds, store)),
  ];
  const bars = (['response', 'delivery'] as const).flatMap((figure) =>
    STORES.map((store) => ({
      label: `${figure === 'response' ? 'accepted' : 'received'}, ${store}`,
      value: medianOf(rounds, `event, ${store}`, `${figure}P50Ms`),
      note: `p99 ${medianOf(rounds, `event, ${store}`, `${figure}P99Ms`).toFixed(1)}`,
    })),
  );
  const unit = 'milliseconds since it was sent, median; shorter is better';
  return { rows, charts: [{ name: 'latency', title: 'One event', unit, bars }], raw: { latency: rounds } };
}

function listSubject(name: string, server: Server, caller: Caller, count: number): Subject {
  const request: TimedRequest = { url: server.url + LIST_PATH, headers: credentials(caller) };
  return {
    name,
    measure: async () => percentiles('response', await timeEach(Array.from({ length: count }, () => request))),
  };
}

function eventTarget(paybell: Server) {
  const headers = { ...credentials(firstCaller(paybell)), 'content-type': 'application/json' };
  return { url: `${paybell.url}${API}/events`, headers };
}

/** From when a request was due, which a timer of one millisecond looks at. */
function pacedSubject(name: string, paybell: Server, receiver: CountingReceiver): Subject {
  const request = { ...eventTarget(paybell), bodies: eventTemplates(KIND) };
  const load = { request, perSecond: PER_SECOND, seconds: PACED_S };
  return {
    name,
    async measure() {
      await receiver.reset();
      const { sent, responseP50Ms, responseP99Ms } = await sendPaced(load, 'load');
      await awaitArrival(receiver, sent, MAX_ARRIVE_MS);
      return { responseP50Ms, responseP99Ms };
    },
  };
}

function eventSubject(name: string, paybell: Server, receiver: CountingReceiver, count: number): Subject {
  const target = eventTarget(paybell);
  const nextRequest = (): TimedRequest => ({ ...target, method: 'POST', body: eventBody(KIND) });
  return {
    name,
    async measure() {
      await receiver.reset();
      const ms = await timeEach(Array.from({ length: count }, nextRequest), PAUSE_MS);
      await Bun.sleep(200);
      const { delaysMs } = await receiver.read();
      if (delaysMs.length !== count) throw new Error(`${delaysMs.length} of ${count} events arrived`);
      return { ...percentiles('response', ms), ...percentiles('delivery', delaysMs) };
    },
  };
}

type Figure = 'response' | 'delivery';

function percentiles(figure: Figure, ms: readonly number[]): Sample {
  return { [`${figure}P50Ms`]: quantile(ms, 0.5), [`${figure}P99Ms`]: quantile(ms, 0.99) };
}

function row(rounds: Rounds, what: string, name: string, figure: Figure): Row {
  const ms = (percentile: string) => medianOf(rounds, name, `${figure}${percentile}Ms`).toFixed(2);
  return { what, figures: `median ${ms('P50')} ms, p99 ${ms('P99')} ms`, check: null };
}

function pacedRow(rounds: Rounds, store: (typeof STORES)[number]): Row {
  const name = `paced, ${store}`;
  const p99Ms = medianOf(rounds, name, 'responseP99Ms');
  const check = store === 'SQLite' ? lower(p99Ms, MAX_P99_MS, TARGET_P99_MS, ' ms') : null;
  return { ...row(rounds, `${PER_SECOND} events a second, accepted, durable, ${store}`, name, 'response'), check };
}
