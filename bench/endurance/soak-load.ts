import { nextSubjects } from '../harness/event-bodies.ts';
import { API, type Caller, credentials } from '../harness/paybell-api.ts';
import type { Server } from '../harness/processes.ts';

/** Everything that clients and receivers do to a service, repeated at a rate well below its limit. */

const EVENTS_EACH_ROUND = 20;
const ROUND_MS = 400;
const SEEDED_BATCHES = 60;
const BATCH = 1_000;

/** The number of responses by class, such as `2xx`. */
export type Load = { readonly responses: ReadonlyMap<string, number>; readonly stop: () => Promise<void> };
type Activity = (round: number) => Promise<unknown>;

type Send = (path: string, init?: RequestInit) => Promise<Response>;

/** One receiver for all behaviours: the path of the request selects the response. */
function startReceiver() {
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      await request.arrayBuffer();
      const { pathname } = new URL(request.url);
      if (pathname === '/slow') await Bun.sleep(500);
      if (pathname === '/large') return new Response('x'.repeat(100_000));
      return new Response('ok', { status: pathname === '/broken' ? 500 : 200 });
    },
  });
}

const BEHAVIOURS = ['good', 'slow', 'large', 'broken'];

function activities(send: Send, origin: string, url: string): Readonly<Record<string, Activity>> {
  const json = { 'content-type': 'application/json' };
  const post = (path: string, body: unknown) =>
    send(path, { method: 'POST', headers: json, body: JSON.stringify(body) });
  return {
    events: () =>
      Promise.all(
        Array.from({ length: EVENTS_EACH_ROUND }, (_, index) =>
          post('/events', { event: 'LatePayment', networkId: index % 4, ...nextSubjects(), note: 'x'.repeat(500) }),
        ),
      ),
    lists: (round) =>
      Promise.all([
        ...['/webhooks/classic', '/events', '/deliveries', '/audit'].map((path) =>
          send(`${path}?page=${1 + (round % 50)}`),
        ),
        ...['/stats', '/webhooks/coverage'].map((path) => send(path)),
      ]),
    registrations: async (round) => {
      await post('/webhooks/classic', {
        postUrl: `${origin}/good?${round}`,
        networkIds: [9],
        events: ['TransferCreated'],
      });
      await send('/webhooks/classic?networkId=9', { method: 'DELETE' });
    },
    // Only the latest: the number of all that failed grows, and the load has to stay the same.
    redeliveries: (round) => {
      const since = Math.trunc(Date.now() / 1_000) - 10;
      const path = `/deliveries/redeliver?status=failed&networkId=${BEHAVIOURS.indexOf('broken')}&since=${since}`;
      return round % 25 === 0 ? send(path, { method: 'POST' }) : Promise.resolve();
    },
    mistakes: () =>
      Promise.all([
        send('/webhooks/classic?limit=0'),
        send('/nothing'),
        post('/events', { event: 'Nope' }),
        send('/webhooks/classic', { headers: { 'api-key': 'wrong' } }),
      ]),
    abortedRequests: async () => {
      const socket = await Bun.connect({
        hostname: new URL(url).hostname,
        port: Number(new URL(url).port),
        socket: { data: () => undefined },
      });
      socket.write(`POST ${API}/events HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n{`);
      await Bun.sleep(50);
      socket.terminate();
    },
    scrapes: () => fetch(`${url}/metrics`).then((response) => response.text()),
  };
}

/** Fills the bounded caches of the store first, because memory grows until they are full. */
async function fillCaches(send: Send): Promise<void> {
  const line = () =>
    JSON.stringify({ event: 'LatePayment', networkId: 77, ...nextSubjects(), note: 'x'.repeat(1_000) });
  const headers = { 'content-type': 'application/x-ndjson' };
  for (let count = 0; count < SEEDED_BATCHES; count++) {
    const body = Array.from({ length: BATCH }, line).join('\n');
    await send('/events/batch', { method: 'POST', headers, body });
    await send(`/events?limit=100&page=${1 + count * 10}`);
  }
}

export async function startLoad({ url }: Server, caller: Caller): Promise<Load> {
  const receiver = startReceiver();
  const responses = new Map<string, number>();
  let running = true;
  const count = (kind: string) => responses.set(kind, (responses.get(kind) ?? 0) + 1);
  const send: Send = async (path, init = {}) => {
    const headers = { ...credentials(caller), ...init.headers };
    const response = await fetch(url + API + path, { ...init, headers });
    const text = await response.text();
    count(`${Math.trunc(response.status / 100)}xx`);
    if (response.status >= 500) console.log(`${init.method ?? 'GET'} ${path} returned ${response.status}: ${text}`);
    return response;
  };
  const origin = receiver.url.origin;
  for (const [networkId, behaviour] of BEHAVIOURS.entries()) {
    const body = JSON.stringify({
      postUrl: `${origin}/${behaviour}`,
      networkIds: [networkId],
      events: ['LatePayment'],
    });
    await send('/webhooks/classic', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  }
  await fillCaches(send);
  const loops = Object.values(activities(send, origin, url)).map(async (activity) => {
    for (let round = 1; running; round++) {
      await activity(round).catch(() => count('failed connections'));
      await Bun.sleep(ROUND_MS);
    }
  });
  const stop = async () => {
    running = false;
    await Promise.all(loops);
    await receiver.stop(true);
  };
  return { responses, stop };
}
