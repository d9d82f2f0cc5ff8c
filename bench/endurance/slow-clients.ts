import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { cleanUp, residentBytes, startPaybell } from '../harness/processes.ts';
import { callFor, credentialsOf, feltAsText } from './callers.ts';

/**
 * What others feel while thousands of clients hold connections and never finish a request:
 * `npm run slow-clients -- --sockets 5000 --seconds 60`. A third each drips its headers, its headers with a good key, and
 * a body. Exits 1 when the 99th percentile of valid requests is over a second or one of them fails.
 */

const LIMIT_MS = 1_000;

const { values } = parseArgs({
  options: { sockets: { type: 'string', default: '5000' }, seconds: { type: 'string', default: '60' } },
});
const sockets = Number(values.sockets);
const seconds = Number(values.seconds);

type Held = { held: number; opened: number; refused: number };

/** Starts the holder; `latest` is what it printed last. */
function holdSockets(url: string, beginnings: readonly string[]) {
  const input = JSON.stringify({ url, sockets, beginnings });
  const program = resolve(import.meta.dir, 'slow-sockets.ts');
  const child = Bun.spawn([process.execPath, program, input], { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' });
  const seen: Held[] = [];
  const reading = (async () => {
    let rest = '';
    for await (const chunk of child.stdout) {
      const lines = (rest + new TextDecoder().decode(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) seen.push(JSON.parse(line) as Held);
    }
  })();
  const stop = async () => {
    child.kill();
    await reading;
  };
  return { seen, stop };
}

async function main(): Promise<number> {
  const server = await startPaybell({ settings: {}, place: 'anywhere' });
  const credentials = credentialsOf(server);
  await callFor(2, server, credentials);
  console.log(`quiet: ${feltAsText(await callFor(seconds / 4, server, credentials))}`);
  const quietBytes = await residentBytes(server.pid);
  const headers = `host: a\r\napi-key: ${credentials['api-key']}\r\nentity-id: ${credentials['entity-id']}\r\n`;
  const holder = holdSockets(server.url, [
    'GET /healthz HTTP/1.1\r\nhost: a\r\nx-slow: ',
    `GET /api/v1/crypto/webhooks/classic HTTP/1.1\r\n${headers}x-slow: `,
    `POST /api/v1/crypto/events HTTP/1.1\r\n${headers}content-type: application/json\r\ncontent-length: 100000\r\n\r\n{`,
  ]);
  for (let waited = 0; waited < 60 && (holder.seen.at(-1)?.held ?? 0) < sockets * 0.95; waited++)
    await Bun.sleep(1_000);
  const from = holder.seen.length;
  const felt = await callFor(seconds, server, credentials);
  const during = holder.seen.slice(from);
  const held = during.map((sample) => sample.held);
  const { opened = 0, refused = 0 } = holder.seen.at(-1) ?? {};
  console.log(`with slow clients: ${feltAsText(felt)}`);
  console.log(
    `held ${Math.min(...held)} to ${Math.max(...held)} of ${sockets} for ${seconds} s; ${opened} opened in all, ${refused} refused`,
  );
  const mebibytes = (bytes: number) => (bytes / 2 ** 20).toFixed(0);
  console.log(
    `memory ${mebibytes(quietBytes)} MiB before, ${mebibytes(await residentBytes(server.pid))} MiB under them`,
  );
  await holder.stop();
  await server.stop();
  return felt.p99 > LIMIT_MS || felt.failed > 0 ? 1 : 0;
}

let exitCode = 1;
try {
  exitCode = await main();
} finally {
  await cleanUp();
}
process.exit(exitCode);
