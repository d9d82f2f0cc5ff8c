import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { API, firstCaller, LIST_PATH } from '../harness/paybell-api.ts';
import { cleanUp, residentBytes, startPaybell } from '../harness/processes.ts';
import { callFor, latencyAsText } from './callers.ts';

/**
 * The latency of valid requests while thousands of clients hold connections and never finish a request:
 * `npm run slow-clients -- --sockets 5000 --seconds 60`. A third of the clients each send slow headers, slow headers with
 * a valid key, and a slow body. Exits with 1 when the 99th percentile of valid requests exceeds a second or one fails.
 */

const LIMIT_MS = 1_000;

const { values } = parseArgs({
  options: { sockets: { type: 'string', default: '5000' }, seconds: { type: 'string', default: '60' } },
});
const sockets = Number(values.sockets);
const seconds = Number(values.seconds);

type Held = { held: number; opened: number; refused: number };

/** Starts the process that holds the connections; `samples` are the counts that it prints every second. */
function holdSockets(url: string, beginnings: readonly string[]) {
  const input = JSON.stringify({ url, sockets, beginnings });
  const program = resolve(import.meta.dir, 'slow-sockets-process.ts');
  const child = Bun.spawn([process.execPath, program, input], { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' });
  const samples: Held[] = [];
  const reading = (async () => {
    let rest = '';
    for await (const chunk of child.stdout) {
      const lines = (rest + new TextDecoder().decode(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) samples.push(JSON.parse(line) as Held);
    }
  })();
  const stop = async () => {
    child.kill();
    await reading;
  };
  return { samples, stop };
}

async function main(): Promise<number> {
  const server = await startPaybell({ settings: {}, place: 'anywhere' });
  const caller = firstCaller(server);
  await callFor(2, server, caller);
  console.log(`Without slow clients: ${latencyAsText(await callFor(seconds / 4, server, caller))}`);
  const quietBytes = await residentBytes(server.pid);
  const headers = `host: a\r\napi-key: ${caller.apiKey}\r\nentity-id: ${caller.entityId}\r\n`;
  const holder = holdSockets(server.url, [
    'GET /healthz HTTP/1.1\r\nhost: a\r\nx-slow: ',
    `GET ${LIST_PATH} HTTP/1.1\r\n${headers}x-slow: `,
    `POST ${API}/events HTTP/1.1\r\n${headers}content-type: application/json\r\ncontent-length: 100000\r\n\r\n{`,
  ]);
  for (let waited = 0; waited < 60 && (holder.samples.at(-1)?.held ?? 0) < sockets * 0.95; waited++)
    await Bun.sleep(1_000);
  const from = holder.samples.length;
  const latency = await callFor(seconds, server, caller);
  const during = holder.samples.slice(from);
  const held = during.map((sample) => sample.held);
  const { opened = 0, refused = 0 } = holder.samples.at(-1) ?? {};
  console.log(`With slow clients: ${latencyAsText(latency)}`);
  console.log(
    `Connections: ${Math.min(...held)} to ${Math.max(...held)} of ${sockets} held for ${seconds} s; ${opened} opened in total, ${refused} refused`,
  );
  const mebibytes = (bytes: number) => (bytes / 2 ** 20).toFixed(0);
  console.log(
    `Memory: ${mebibytes(quietBytes)} MiB before, ${mebibytes(await residentBytes(server.pid))} MiB with slow clients`,
  );
  await holder.stop();
  await server.stop();
  return latency.p99 > LIMIT_MS || latency.failed > 0 ? 1 : 0;
}

let exitCode = 1;
try {
  exitCode = await main();
} finally {
  await cleanUp();
}
process.exit(exitCode);
