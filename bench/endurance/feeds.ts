import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startCountingReceiver } from '../delivery/counting-receiver.ts';
import { eventBody } from '../harness/event-bodies.ts';
import { API, type Caller, credentials, deliverySettings, firstCaller, register } from '../harness/paybell-api.ts';
import { cleanUp, residentBytes, type Server, startPaybell, tempFolder } from '../harness/processes.ts';
import { quantile } from '../harness/rounds.ts';

/**
 * Thousands of open feeds, as streams: the memory that they take, and how long deliveries take beside them, from sent to
 * received. `npx bun bench/endurance/feeds.ts --feeds 5000 --endpoints 50 --rate 100 --seconds 20`. Every event goes to
 * one endpoint, and so to the feeds of that one. Half of the feeds are read with a key that is revoked at the end, and the
 * service is stopped while the other half is open. Exits with 1 when a feed misses an event, or ends too early or too late.
 */

const { values } = parseArgs({
  options: {
    feeds: { type: 'string', default: '5000' },
    endpoints: { type: 'string', default: '50' },
    rate: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '20' },
  },
});
const [feeds, endpoints, rate, seconds] = [values.feeds, values.endpoints, values.rate, values.seconds].map(Number) as [
  number,
  number,
  number,
  number,
];

/** The streams of a revoked key end within this time. */
const REVOKED_WITHIN_MS = 5_000;
const ADMIN_KEY = 'operator-key-of-the-bench-0123456789';

type Held = { held: number; refused: number; ended: number; events: number };

const kindOf = (endpoint: number) => `Bench${endpoint}`;

/** Sends events at the rate, each to the next endpoint, and returns how long they took. */
async function measure(paybell: Server, caller: Caller, receiver: Receiver, sentS: number) {
  await receiver.reset();
  const sending: Promise<unknown>[] = [];
  const total = rate * sentS;
  const startMs = performance.now();
  for (let sent = 0; sent < total; sent++) {
    const body = eventBody(kindOf(sent % endpoints)).replace('"sentAtMs":0', `"sentAtMs":${Date.now()}`);
    const headers = { ...credentials(caller), 'content-type': 'application/json' };
    sending.push(fetch(`${paybell.url}${API}/events`, { method: 'POST', headers, body }));
    await Bun.sleep(Math.max(0, startMs + (sent * 1_000) / rate - performance.now()));
  }
  await Promise.all(sending);
  for (let waited = 0; waited < 300 && (await receiver.read()).received < total; waited++) await Bun.sleep(100);
  const { received, delaysMs } = await receiver.read();
  return { received, p50: quantile(delaysMs, 0.5), p99: quantile(delaysMs, 0.99) };
}

type Receiver = Awaited<ReturnType<typeof startCountingReceiver>>;

/** The ids of all endpoints. */
async function endpointIds(paybell: Server, caller: Caller): Promise<string[]> {
  const ids: string[] = [];
  for (let page = 1; ids.length < endpoints; page++) {
    const response = await fetch(`${paybell.url}${API}/endpoints?limit=100&page=${page}`, {
      headers: credentials(caller),
    });
    const list = (await response.json()) as { endpoints: { endpointId: string }[] };
    if (list.endpoints.length === 0) break;
    ids.push(...list.endpoints.map(({ endpointId }) => endpointId));
  }
  return ids;
}

/** Each feed with the next of the callers. */
async function openFeeds(paybell: Server, callers: readonly [Caller, Caller]) {
  const [caller] = callers;
  const ids = await endpointIds(paybell, caller);
  const linesOf = (reader: Caller) => [
    'host: a',
    'accept: text/event-stream',
    ...Object.entries(credentials(reader)).map((pair) => pair.join(': ')),
  ];
  const requests: string[] = [];
  for (let feed = 0; feed < feeds; feed++) {
    const id = ids[feed % ids.length] ?? '';
    const url = `${paybell.url}${API}/endpoints/${id}/feed?limit=1`;
    const { lastSequence } = (await (await fetch(url, { headers: credentials(caller) })).json()) as {
      lastSequence: number;
    };
    const path = `${API}/endpoints/${id}/feed?after=${lastSequence}`;
    const lines = linesOf(callers[feed % 2] ?? caller);
    requests.push(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  }
  const program = resolve(import.meta.dir, 'feed-readers-process.ts');
  const child = Bun.spawn([process.execPath, program], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' });
  child.stdin.write(JSON.stringify({ url: paybell.url, requests }));
  await child.stdin.end();
  const counts: { last: Held } = { last: { held: 0, refused: 0, ended: 0, events: 0 } };
  void (async () => {
    let rest = '';
    for await (const chunk of child.stdout) {
      const lines = (rest + new TextDecoder().decode(chunk)).split('\n');
      rest = lines.pop() ?? '';
      const last = lines.at(-1);
      if (last !== undefined) counts.last = JSON.parse(last) as Held;
    }
  })();
  for (let waited = 0; waited < 60 && counts.last.held < feeds; waited++) await Bun.sleep(1_000);
  return { counts, stop: () => child.kill() };
}

const adminUrl = (paybell: Server, path: string) => `${paybell.url}/admin/v1${path}`;

async function createReader(paybell: Server, { entityId }: Caller): Promise<Caller & { keyId: string }> {
  const response = await fetch(adminUrl(paybell, '/keys'), {
    method: 'POST',
    headers: { 'api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ entityId, name: 'Reader', permissions: ['deliveries:read'] }),
  });
  if (response.status !== 201) throw new Error(`The key was not created: ${await response.text()}`);
  return { entityId, ...((await response.json()) as { apiKey: string; keyId: string }) };
}

type Readers = Awaited<ReturnType<typeof openFeeds>>;

/** How long the feeds of the revoked key take to end, all of them; the others go on. */
async function revoke(paybell: Server, keyId: string, { counts }: Readers): Promise<number> {
  const startMs = performance.now();
  await fetch(adminUrl(paybell, `/keys/${keyId}`), { method: 'DELETE', headers: { 'api-key': ADMIN_KEY } });
  const ended = () => counts.last.ended >= Math.floor(feeds / 2);
  while (!ended() && performance.now() - startMs < 2 * REVOKED_WITHIN_MS) await Bun.sleep(10);
  return performance.now() - startMs;
}

async function main(): Promise<number> {
  const receiver = await startCountingReceiver(1);
  const settings = {
    ...deliverySettings(`sqlite:${tempFolder()}/paybell.db`),
    FEED_LIMIT: String(feeds),
    ADMIN_KEY,
    EXTRA_EVENTS: Array.from({ length: endpoints }, (_, endpoint) => kindOf(endpoint)).join(','),
  };
  const paybell = await startPaybell({ settings, place: 'anywhere' });
  const caller = firstCaller(paybell);
  for (let endpoint = 0; endpoint < endpoints; endpoint++) {
    await register(paybell, caller, kindOf(endpoint), [`${receiver.urls[0]}/${endpoint}`]);
  }
  await measure(paybell, caller, receiver, 3);
  const before = await measure(paybell, caller, receiver, seconds);
  const bytesBefore = await residentBytes(paybell.pid);
  const reader = await createReader(paybell, caller);
  const readers = await openFeeds(paybell, [caller, reader]);
  const bytesIdle = await residentBytes(paybell.pid);
  const during = await measure(paybell, caller, receiver, seconds);
  const wanted = (rate * seconds * feeds) / endpoints;
  for (let waited = 0; waited < 60 && readers.counts.last.events < wanted; waited++) await Bun.sleep(1_000);
  const { held, refused, ended, events } = readers.counts.last;
  const bytesAfter = await residentBytes(paybell.pid);
  const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  const latency = ({ received, p50, p99 }: typeof before) =>
    `${received} received, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
  console.log(`Deliveries without feeds: ${latency(before)}`);
  console.log(`Deliveries beside ${held} feeds of ${endpoints} endpoints: ${latency(during)}`);
  console.log(`Feeds: ${refused} refused, ${ended} ended, ${events} of ${wanted} entries received`);
  console.log(
    `Memory: ${mebibytes(bytesBefore)} before, ${mebibytes(bytesIdle)} open, ${mebibytes(bytesAfter)} at the end`,
  );
  const revokedMs = await revoke(paybell, reader.keyId, readers);
  const left = readers.counts.last.held;
  const stoppedAtMs = performance.now();
  await paybell.stop();
  console.log(`A revoked key: its ${feeds - left} feeds ended within ${(revokedMs / 1_000).toFixed(1)} s`);
  console.log(
    `SIGTERM with ${left} open feeds: ended after ${((performance.now() - stoppedAtMs) / 1_000).toFixed(1)} s`,
  );
  readers.stop();
  const isComplete = held === feeds && events === wanted && left === Math.ceil(feeds / 2);
  return isComplete && revokedMs <= REVOKED_WITHIN_MS ? 0 : 1;
}

let exitCode = 1;
try {
  exitCode = await main();
} finally {
  await cleanUp();
}
process.exit(exitCode);
