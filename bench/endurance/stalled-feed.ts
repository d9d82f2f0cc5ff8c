import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { nextSubjects } from '../harness/event-bodies.ts';
import { API, type Caller, credentials, deliverySettings, firstCaller, register } from '../harness/paybell-api.ts';
import { cleanUp, residentBytes, type Server, startPaybell, tempFolder } from '../harness/processes.ts';

/**
 * The memory that readers of a feed cost which take nothing, while a hundred megabytes could be sent to each:
 * `npx bun bench/endurance/stalled-feed.ts --readers 1 --seconds 10`. Afterwards they read on. Exits with 1 when a reader
 * costs more than 16 MiB, or does not get every entry.
 */

const EVENTS = 500;
const PAYLOAD_BYTES = 200_000;
const LIMIT_BYTES = 16 * 2 ** 20;
const KIND = 'BenchStalled';

const { values } = parseArgs({
  options: { readers: { type: 'string', default: '1' }, seconds: { type: 'string', default: '10' } },
});
const readers = Number(values.readers);
const seconds = Number(values.seconds);

async function request(
  paybell: Server,
  caller: Caller,
  method: string,
  path: string,
  body?: unknown,
): Promise<unknown> {
  const response = await fetch(`${paybell.url}${API}${path}`, {
    method,
    headers: { ...credentials(caller), 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${await response.text()}`);
  return response.json();
}

/** An endpoint whose deliveries wait, so that nothing but the feed is measured. */
async function makeEndpoint(paybell: Server, caller: Caller): Promise<string> {
  await register(paybell, caller, KIND, ['http://127.0.0.1:9/hook']);
  const list = (await request(paybell, caller, 'GET', '/endpoints')) as { endpoints: { endpointId: string }[] };
  const id = list.endpoints[0]?.endpointId ?? '';
  await request(paybell, caller, 'PATCH', `/endpoints/${id}`, { paused: true });
  const payload = 'x'.repeat(PAYLOAD_BYTES);
  for (let sent = 0; sent < EVENTS; sent++) {
    await request(paybell, caller, 'POST', '/events', { event: KIND, networkId: 8453, ...nextSubjects(), payload });
  }
  return id;
}

function openReader(paybell: Server, caller: Caller, id: string) {
  const lines = Object.entries({ host: 'a', accept: 'text/event-stream', ...credentials(caller) });
  const head = lines.map((pair) => pair.join(': ')).join('\r\n');
  const input = {
    url: paybell.url,
    request: `GET ${API}/endpoints/${id}/feed?after=0 HTTP/1.1\r\n${head}\r\n\r\n`,
    events: EVENTS,
  };
  const program = resolve(import.meta.dir, 'stalled-reader-process.ts');
  return Bun.spawn([process.execPath, program, JSON.stringify(input)], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
}

/** The most of some looks, one every 100 ms. */
async function mostBytes(paybell: Server, forS: number): Promise<number> {
  let most = 0;
  for (let look = 0; look < forS * 10; look++) {
    most = Math.max(most, await residentBytes(paybell.pid));
    await Bun.sleep(100);
  }
  return most;
}

async function main(): Promise<number> {
  const settings = {
    ...deliverySettings(`sqlite:${tempFolder()}/paybell.db`),
    FEED_LIMIT: String(readers),
    EXTRA_EVENTS: KIND,
  };
  const paybell = await startPaybell({ settings, place: 'anywhere' });
  const caller = firstCaller(paybell);
  const id = await makeEndpoint(paybell, caller);
  const before = await mostBytes(paybell, seconds);
  const children = Array.from({ length: readers }, () => openReader(paybell, caller, id));
  const stalled = await mostBytes(paybell, seconds);
  for (const { stdin } of children) {
    stdin.write('go on\n');
    stdin.flush();
  }
  const outputs = await Promise.all(children.map(({ stdout }) => stdout.text()));
  const complete = outputs.filter((output) => output.includes(`{"events":${EVENTS}}`)).length;
  const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  console.log(`Memory: ${mebibytes(before)} before, ${mebibytes(stalled)} beside ${readers} readers that take nothing`);
  console.log(`${complete} of ${readers} readers got all ${EVENTS} entries when they read on`);
  await paybell.stop();
  return stalled - before <= readers * LIMIT_BYTES && complete === readers ? 0 : 1;
}

let exitCode = 1;
try {
  exitCode = await main();
} finally {
  await cleanUp();
}
process.exit(exitCode);
