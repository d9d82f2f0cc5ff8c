import { FAN_OUT, type Route, sendAndDeliver, TO_ONE, TO_TEN } from '../delivery/accept-and-deliver.ts';
import { awaitArrival, type CountingReceiver, startCountingReceiver } from '../delivery/counting-receiver.ts';
import { credentials } from '../harness/paybell-api.ts';
import { spreadPostgres } from '../harness/postgres.ts';
import { residentBytes } from '../harness/processes.ts';
import { interleave, medianOf, quantile, type Rounds, type Sample, type Subject } from '../harness/rounds.ts';
import type { Tools } from '../harness/tools.ts';
import { sendPaced } from '../load/paced.ts';
import { startBullmqPeer } from '../peers/bullmq.ts';
import { startOutpostPeer } from '../peers/outpost.ts';
import { startPaybellPeer } from '../peers/paybell.ts';
import type { Peer } from '../peers/peer.ts';
import { namedProgram, required } from '../peers/programs.ts';
import { RABBITMQ } from '../peers/rabbitmq.ts';
import { REDIS } from '../peers/redis.ts';
import { startSvixPeer } from '../peers/svix.ts';
import { amount, type Comparison, type PartResult } from '../report/report.ts';

/**
 * Paybell on both engines beside services of its kind, with the same receiver and the same senders: a sender made of BullMQ, where
 * `redis-server` is on the PATH, and Svix and Outpost where `SVIX_BIN` and `OUTPOST_BIN` name them. Processes run on any core.
 */

const SENDERS = 64;
const MEBIBYTE = 1024 ** 2;
const RATES = [200, 1_000] as const;
/** What arrives later than this after the last request is not waited for. */
const MAX_ARRIVE_MS = 30_000;
/** A peer may pause for longer than Paybell between two deliveries that wait. */
const QUIET_MS = 1_000;

export async function benchPeers({ mode, progress }: Tools): Promise<PartResult> {
  const receiver = await startCountingReceiver(FAN_OUT);
  progress('start');
  await spreadPostgres();
  const peers = await startPeers(receiver.urls);
  const idle = await Promise.all(peers.map(memoryOf));
  const [one, ten, seconds] = mode.quick ? [1_000, 100, 1] : [5_000, 500, 5];
  const subjects = [
    ...peers.map((peer) => burst(peer, receiver, { ...TO_ONE, senders: SENDERS }, one)),
    ...peers.map((peer) => burst(peer, receiver, { ...TO_TEN, senders: SENDERS }, ten)),
    ...RATES.flatMap((rate) => peers.map((peer) => paced(peer, receiver, rate, seconds))),
  ];
  progress('warm-up');
  for (const { measure } of subjects.slice(0, 2 * peers.length)) await measure(0);
  const rounds = await interleave(subjects, mode.quick ? 1 : 3, progress);
  const after = await Promise.all(peers.map(memoryOf));
  const comparison = compare(peers, rounds, { idle, after });
  for (const { server } of peers) await server.stop();
  await receiver.stop();
  return { rows: [], charts: [], comparison, raw: { peers: rounds } };
}

async function startPeers(urls: readonly string[]): Promise<Peer[]> {
  const [svix, outpost] = [namedProgram('SVIX_BIN'), namedProgram('OUTPOST_BIN')];
  const peers = [await startPaybellPeer('SQLite', urls), await startPaybellPeer('PostgreSQL', urls)];
  if (REDIS !== null) {
    peers.push(await startBullmqPeer(REDIS, 'everysec', urls), await startBullmqPeer(REDIS, 'always', urls));
  }
  if (svix !== null) peers.push(await startSvixPeer(svix, required(REDIS, 'redis-server', 'Svix'), urls));
  if (outpost !== null) {
    const redis = required(REDIS, 'redis-server', 'Outpost');
    const rabbitmq = required(RABBITMQ, 'rabbitmq-server', 'Outpost');
    peers.push(await startOutpostPeer(outpost, { redis, rabbitmq }, urls));
  }
  return peers;
}

/** Senders that each wait for a response before they send again, until everything has arrived. */
function burst(peer: Peer, receiver: CountingReceiver, route: Route, events: number): Subject {
  const request = { ...peer.request(route.event), callers: [peer.caller] };
  return {
    name: `${peer.name}, ${route.event}`,
    measure: () =>
      withAllCpu(peer, async () => {
        const { perSecond, operations } = await sendAndDeliver(request, receiver, route, events, QUIET_MS);
        return { perSecond, operations };
      }),
  };
}

/** A fixed rate, whatever the responses. */
function paced(peer: Peer, receiver: CountingReceiver, perSecond: number, seconds: number): Subject {
  return {
    name: `${peer.name}, ${perSecond}`,
    measure: async () => {
      await receiver.reset();
      const { headers, ...request } = peer.request(TO_ONE.event);
      const asCaller = { ...headers, ...credentials(peer.caller) };
      const { sent } = await sendPaced({ request: { ...request, headers: asCaller }, perSecond, seconds });
      const { delaysMs } = await awaitArrival(receiver, sent, MAX_ARRIVE_MS);
      if (delaysMs.length < sent) throw new Error(`${peer.name}: ${delaysMs.length} of ${sent} events arrived`);
      return { p50Ms: quantile(delaysMs, 0.5), p99Ms: quantile(delaysMs, 0.99) };
    },
  };
}

async function withAllCpu(peer: Peer, measure: () => Promise<Sample & { operations: number }>): Promise<Sample> {
  const before = await peer.cpuSeconds();
  const sample = await measure();
  const usedS = (await peer.cpuSeconds()) - before;
  return { ...sample, cpuMicroseconds: (usedS / sample.operations) * 1e6 };
}

async function memoryOf({ server }: Peer): Promise<number> {
  return (await residentBytes(server.pid)) / MEBIBYTE;
}

type Memory = { readonly idle: readonly number[]; readonly after: readonly number[] };

function compare(peers: readonly Peer[], rounds: Rounds, { idle, after }: Memory): Comparison {
  const of = (peer: Peer, subject: string | number, figure: string) =>
    medianOf(rounds, `${peer.name}, ${subject}`, figure);
  const rate = (route: Route) => (peer: Peer) => amount(of(peer, route.event, 'perSecond'));
  const cpu = (route: Route) => (peer: Peer) => of(peer, route.event, 'cpuMicroseconds').toFixed(0);
  const latency = (perSecond: number) => (peer: Peer) =>
    ['p50Ms', 'p99Ms'].map((figure) => of(peer, perSecond, figure).toFixed(1)).join(' / ');
  const lines: Record<string, (peer: Peer, index: number) => string> = {
    'what was acknowledged survives': ({ durability }) => durability,
    [`1 event to 1 receiver, ${SENDERS} senders, delivered/s`]: rate(TO_ONE),
    'CPU of all processes, µs an event': cpu(TO_ONE),
    [`1 event to 10 receivers, ${SENDERS} senders, delivered/s`]: rate(TO_TEN),
    'CPU of all processes, µs a delivery': cpu(TO_TEN),
    ...Object.fromEntries(
      RATES.map((perSecond) => [`sent to received at ${perSecond}/s, p50 / p99 ms`, latency(perSecond)]),
    ),
    'start to first response, s': ({ startMs }) => (startMs / 1_000).toFixed(2),
    'memory of the server, idle → after, MB': (_, index) => `${idle[index]?.toFixed(0)} → ${after[index]?.toFixed(0)}`,
  };
  return {
    headings: ['', ...peers.map(({ name }) => name)],
    lines: Object.entries(lines).map(([what, cellOf]) => [what, ...peers.map(cellOf)]),
  };
}
