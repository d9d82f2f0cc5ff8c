import { SQL } from 'bun';
import { FAN_OUT, TO_ONE, TO_TEN } from '../delivery/accept-and-deliver.ts';
import { API, type Caller, deliverySettings, eventBody, firstCaller, register } from '../harness/paybell-api.ts';
import { createPostgresDatabase } from '../harness/postgres.ts';
import { cpuSeconds, type Server, startPaybell, startProgram, tempFolder } from '../harness/processes.ts';
import { postgresCpuSeconds } from '../store/postgres-cpu.ts';
import { type Fsync, startRedis } from './redis.ts';

/** A service that takes events over HTTP and delivers each to one receiver or to ten, by its kind. */
export type Peer = {
  readonly name: string;
  /** What an acknowledged event survives. */
  readonly durability: string;
  readonly server: Server;
  readonly startMs: number;
  /** In headers that only Paybell reads. */
  readonly caller: Caller;
  readonly request: (event: string) => EventRequest;
  /** Of all its processes together, those of its stores included. */
  readonly cpuSeconds: () => Promise<number>;
};

export type EventRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

const JSON_TYPE = { 'content-type': 'application/json' };
const NOBODY: Caller = { entityId: '-', apiKey: '-' };

/** The receivers of each kind of event. */
function routesTo(urls: readonly string[]): Readonly<Record<string, readonly string[]>> {
  return { [TO_ONE.event]: urls.slice(0, 1), [TO_TEN.event]: urls.slice(0, FAN_OUT) };
}

export async function startPaybellPeer(engine: 'SQLite' | 'PostgreSQL', urls: readonly string[]): Promise<Peer> {
  const databaseUrl = engine === 'SQLite' ? `sqlite:${tempFolder()}/paybell.db` : await createPostgresDatabase();
  const settings = deliverySettings(databaseUrl);
  const [server, startMs] = await timed(() => startPaybell({ settings, place: 'anywhere' }));
  const caller = firstCaller(server);
  for (const [event, receivers] of Object.entries(routesTo(urls))) await register(server, caller, event, receivers);
  const url = `${server.url}${API}/events`;
  return {
    name: `Paybell, ${engine}`,
    durability: 'a crash of the machine',
    server,
    startMs,
    caller,
    request: (event) => ({ url, headers: JSON_TYPE, body: eventBody(event) }),
    cpuSeconds: engine === 'SQLite' ? () => cpuOf(server) : withPostgres(databaseUrl, () => cpuOf(server)),
  };
}

export async function startBullmqPeer(binary: string, fsync: Fsync, urls: readonly string[]): Promise<Peer> {
  const redis = await startRedis(binary, fsync);
  const input = { redisPort: redis.port, receivers: routesTo(urls) };
  const [server, startMs] = await timed(() => startProgram('peers/bullmq-sender.js', input, 'anywhere', 'node'));
  return {
    name: `BullMQ, Redis ${fsync === 'always' ? 'waits for the disk' : 'syncs each second'}`,
    durability:
      fsync === 'always'
        ? 'a crash of the machine: each write waits for the disk'
        : 'all but the last second of writes',
    server,
    startMs,
    caller: NOBODY,
    request: (event) => ({ url: `${server.url}/`, headers: JSON_TYPE, body: eventBody(event) }),
    cpuSeconds: async () => (await cpuOf(server)) + (await cpuOf(redis)),
  };
}

async function timed<Result>(work: () => Promise<Result>): Promise<[Result, number]> {
  const startedAtMs = performance.now();
  const result = await work();
  return [result, performance.now() - startedAtMs];
}

async function cpuOf({ pid }: { readonly pid: number }): Promise<number> {
  return cpuSeconds(pid) ?? Number.NaN;
}

/** Only one of the peers is busy at a time, so that what PostgreSQL does is done for that one. */
function withPostgres(databaseUrl: string, own: () => Promise<number>): () => Promise<number> {
  const sql = new SQL(databaseUrl, { max: 1 });
  return async () => (await own()) + ((await postgresCpuSeconds(sql)) ?? Number.NaN);
}
