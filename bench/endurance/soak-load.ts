import type { Server } from '../harness/processes.ts';
import type { Credentials } from './callers.ts';

/** Everything that clients and receivers do to the service in a day, again and again, at a pace that leaves it air. */

const EVENTS_EACH_TURN = 20;
const TURN_MS = 400;
const SEEDED_BATCHES = 60;

export type Load = { readonly done: Map<string, number>; readonly stop: () => Promise<void> };

type Ask = (path: string, init?: RequestInit) => Promise<Response>;

/** A receiver of each temper; what it answers depends on the path alone. */
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

const TEMPERS = ['good', 'slow', 'large', 'broken'];

function turns(ask: Ask, origin: string, url: string): Readonly<Record<string, (turn: number) => Promise<unknown>>> {
  const json = { 'content-type': 'application/json' };
  const send = (path: string, body: unknown, method = 'POST') =>
    ask(path, { method, headers: json, body: JSON.stringify(body) });
  return {
    events: () =>
      Promise.all(
        Array.from({ length: EVENTS_EACH_TURN }, (_, index) =>
          send('/events', { event: 'LatePayment', networkId: index % 4, note: 'x'.repeat(500) }),
        ),
      ),
    lists: (turn) =>
      Promise.all([
        ...['/webhooks/classic', '/events', '/deliveries', '/audit'].map((path) =>
          ask(`${path}?page=${1 + (turn % 50)}`),
        ),
        ...['/stats', '/webhooks/coverage'].map((path) => ask(path)),
      ]),
    registrations: async (turn) => {
      await send('/webhooks/classic', {
        postUrl: `${origin}/good?${turn}`,
        networkIds: [9],
        events: ['TransferCreated'],
      });
      await ask('/webhooks/classic?networkId=9', { method: 'DELETE' });
    },
    // Only the latest: all that ever failed would be more each time, and the load has to be the same from first to last.
    redeliveries: (turn) => {
      const since = Math.trunc(Date.now() / 1_000) - 10;
      const path = `/deliveries/redeliver?status=failed&networkId=${TEMPERS.indexOf('broken')}&since=${since}`;
      return turn % 25 === 0 ? ask(path, { method: 'POST' }) : Promise.resolve();
    },
    mistakes: () =>
      Promise.all([
        ask('/webhooks/classic?limit=0'),
        ask('/nothing'),
        send('/events', { event: 'Nope' }),
        ask('/webhooks/classic', { headers: { 'api-key': 'wrong' } }),
      ]),
    hangUps: async () => {
      const socket = await Bun.connect({
        hostname: new URL(url).hostname,
        port: Number(new URL(url).port),
        socket: { data: () => undefined },
      });
      socket.write('POST /api/v1/crypto/events HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n{');
      await Bun.sleep(50);
      socket.terminate();
    },
    scrapes: () => fetch(`${url}/metrics`).then((answer) => answer.text()),
  };
}

/** Fills the caches of the store, which are bounded: until they are full, a process grows whatever it does. */
async function fillCaches(ask: Ask): Promise<void> {
  const line = JSON.stringify({ event: 'LatePayment', networkId: 77, note: 'x'.repeat(1_000) });
  const batch = {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
    body: `${line}\n`.repeat(1_000),
  };
  for (let count = 0; count < SEEDED_BATCHES; count++) {
    await ask('/events/batch', batch);
    await ask(`/events?limit=100&page=${1 + count * 10}`);
  }
}

export async function startLoad({ url }: Server, credentials: Credentials): Promise<Load> {
  const receiver = startReceiver();
  const done = new Map<string, number>();
  let running = true;
  const ask: Ask = async (path, init = {}) => {
    const answer = await fetch(`${url}/api/v1/crypto${path}`, {
      ...init,
      headers: { ...credentials, ...init.headers },
    });
    const text = await answer.text();
    const kind = `${Math.trunc(answer.status / 100)}xx`;
    done.set(kind, (done.get(kind) ?? 0) + 1);
    if (answer.status >= 500)
      console.log(`${init.method ?? 'GET'} ${path} was answered with ${answer.status}: ${text}`);
    return answer;
  };
  const origin = receiver.url.origin;
  for (const [networkId, temper] of TEMPERS.entries()) {
    const body = JSON.stringify({ postUrl: `${origin}/${temper}`, networkIds: [networkId], events: ['LatePayment'] });
    await ask('/webhooks/classic', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  }
  await fillCaches(ask);
  const loops = Object.values(turns(ask, origin, url)).map(async (doTurn) => {
    for (let turn = 1; running; turn++) {
      await doTurn(turn).catch(() => done.set('broken off', (done.get('broken off') ?? 0) + 1));
      await Bun.sleep(TURN_MS);
    }
  });
  const stop = async () => {
    running = false;
    await Promise.all(loops);
    await receiver.stop(true);
  };
  return { done, stop };
}
