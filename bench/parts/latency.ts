import { createPostgresDatabase } from '../harness/postgres.ts';
import { type Server, startPaybell, startProgram, tempFolder } from '../harness/processes.ts';
import { interleave, medianOf, quantile, type Rounds, type Sample, type Subject } from '../harness/rounds.ts';
import type { Tools } from '../harness/tools.ts';
import { credentials, type Request, timeEach } from '../load/measure-one-by-one.ts';
import { LIST_PATH } from '../peers/conformance.ts';
import type { PartResult, Row } from '../report/report.ts';
import { API, deliverySettings, eventBody, firstCaller, readReceiver, register } from './delivery.ts';
import { startBareServer } from './list.ts';

/** What one caller waits for when nobody else asks: an answer, an acceptance, and the post at the receiver. */

const PAUSE_MS = 2;
const WEBHOOKS = 100;

export async function benchLatency({ mode, progress, profile }: Tools): Promise<PartResult> {
  const receiver = await startProgram('limits/receiver.ts', { ports: 1 }, 'load');
  const stores = { SQLite: `sqlite:${tempFolder()}/paybell.db`, PostgreSQL: await createPostgresDatabase() };
  const servers: Server[] = [receiver];
  const subjects: Subject[] = [];
  for (const [store, databaseUrl] of Object.entries(stores)) {
    const paybell = await startPaybell({
      settings: deliverySettings(databaseUrl),
      profile: profile(`latency-${store}`),
    });
    const caller = firstCaller(paybell);
    await register(paybell, caller, 'TransferCreated', [`${receiver.url}/hook`]);
    const others = Array.from({ length: WEBHOOKS }, (_, index) => `https://example.com/hooks/${index}`);
    await register(paybell, caller, 'LatePayment', others);
    const list = { url: paybell.url + LIST_PATH, headers: credentials(caller) };
    if (servers.length === 1) {
      const bare = await startBareServer(paybell, caller);
      servers.push(bare);
      subjects.push(listSubject('bare server', { ...list, url: bare.url + LIST_PATH }, mode.latencyRequests));
    }
    servers.push(paybell);
    subjects.push(listSubject(`list, ${store}`, list, mode.latencyRequests));
    subjects.push(eventSubject(`event, ${store}`, paybell, receiver, mode.latencyRequests));
  }
  progress('warm-up');
  for (const { measure } of subjects) await measure(0);
  const rounds = await interleave(subjects, mode.quick ? 1 : mode.rounds, progress);
  await Promise.all(servers.map((server) => server.stop()));
  const rows = [
    ...['bare server', 'list, SQLite', 'list, PostgreSQL'].map((name) =>
      row(rounds, name === 'bare server' ? 'one list request, bare server' : `one ${name}`, name, 'answer'),
    ),
    ...['SQLite', 'PostgreSQL'].flatMap((store) => [
      row(rounds, `one event accepted, durable, ${store}`, `event, ${store}`, 'answer'),
      row(rounds, `one event, from sent to received, ${store}`, `event, ${store}`, 'receipt'),
    ]),
  ];
  const bars = ['answer', 'receipt'].flatMap((figure) =>
    ['SQLite', 'PostgreSQL'].map((store) => ({
      label: `${figure === 'answer' ? 'accepted' : 'received'}, ${store}`,
      value: medianOf(rounds, `event, ${store}`, `${figure}P50Ms`),
      note: `p99 ${medianOf(rounds, `event, ${store}`, `${figure}P99Ms`).toFixed(1)}`,
    })),
  );
  const unit = 'milliseconds since it was sent, median; shorter is better';
  return { rows, charts: [{ name: 'latency', title: 'One event', unit, bars }], raw: { latency: rounds } };
}

function listSubject(name: string, request: Request, count: number): Subject {
  return {
    name,
    measure: async () => percentiles('answer', await timeEach(Array.from({ length: count }, () => request))),
  };
}

function eventSubject(name: string, paybell: Server, receiver: Server, count: number): Subject {
  const request: Request = {
    url: `${paybell.url}${API}/events`,
    method: 'POST',
    headers: { ...credentials(firstCaller(paybell)), 'content-type': 'application/json' },
    body: eventBody('TransferCreated'),
  };
  return {
    name,
    async measure() {
      await readReceiver(receiver, 'reset');
      const ms = await timeEach(
        Array.from({ length: count }, () => request),
        PAUSE_MS,
      );
      await Bun.sleep(200);
      const { delaysMs } = await readReceiver(receiver);
      if (delaysMs.length !== count) throw new Error(`${delaysMs.length} of ${count} events arrived`);
      return { ...percentiles('answer', ms), ...percentiles('receipt', delaysMs) };
    },
  };
}

function percentiles(figure: string, ms: readonly number[]): Sample {
  return { [`${figure}P50Ms`]: quantile(ms, 0.5), [`${figure}P99Ms`]: quantile(ms, 0.99) };
}

function row(rounds: Rounds, what: string, name: string, figure: string): Row {
  const ms = (percentile: string) => medianOf(rounds, name, `${figure}${percentile}Ms`).toFixed(2);
  return { what, figures: `median ${ms('P50')} ms, p99 ${ms('P99')} ms`, check: null };
}
