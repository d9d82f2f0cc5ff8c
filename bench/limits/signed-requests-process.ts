import { headersFor } from '../../src/delivery/attempt.ts';
import { makeSecret, parseKeys } from '../../src/domain/signing.ts';
import { newId, randomBytes } from '../../src/store/new-id.ts';
import { numbered } from '../harness/event-bodies.ts';

/**
 * The limit of a delivery: sign, send, read the response, in a loop, with no store and no retries.
 * `bun signed-requests-process.ts '{"urls": […], "concurrency": 16, "templates": […]}'`, with that concurrency for each URL.
 * `GET /?urls=1&seconds=3` runs the loop against the first of them and returns its rate. The process stays alive between
 * rounds, so that its code stays compiled as that of Paybell does.
 */

type Input = { urls: string[]; concurrency: number; templates: string[] };

const { urls, concurrency, templates } = JSON.parse(process.argv[2] ?? '{}') as Input;
const keys = parseKeys([makeSecret(randomBytes(32))]);
/** Made in advance, since Paybell sends the bodies that it was given. */
const bodies = Array.from({ length: 1_000 }, (_, number) => numbered(templates, number));
let sent = 0;
let number = 0;
let errors = 0;

async function sendUntil(url: string, endsAtMs: number): Promise<void> {
  while (performance.now() < endsAtMs) {
    const body = bodies[number++ % bodies.length] ?? '';
    const nowS = Math.floor(Date.now() / 1_000);
    const headers = headersFor({ deliveryId: newId('dlv'), eventId: newId('evt'), body, keys, nowS });
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual' });
    await response.text();
    if (response.status === 200) sent++;
    else errors++;
  }
}

async function run(targets: readonly string[], seconds: number): Promise<{ perSecond: number; errors: number }> {
  sent = 0;
  const startedAtMs = performance.now();
  const endsAtMs = startedAtMs + seconds * 1_000;
  await Promise.all(targets.flatMap((url) => Array.from({ length: concurrency }, () => sendUntil(url, endsAtMs))));
  return { perSecond: sent / ((performance.now() - startedAtMs) / 1_000), errors };
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  development: false,
  idleTimeout: 0,
  async fetch(request) {
    const { searchParams } = new URL(request.url);
    const parameter = (name: string) => Number(searchParams.get(name));
    return Response.json(await run(urls.slice(0, parameter('urls')), parameter('seconds')));
  },
});

console.log(`listening on http://127.0.0.1:${server.port}`);
