import { readFileSync } from 'node:fs';
import type { Socket } from 'bun';
import { numbered } from '../harness/event-bodies.ts';
import { quantile } from '../harness/rounds.ts';
import type { Order } from './order.ts';
import { ResponseReader } from './response-reader.ts';

/**
 * The load generator where wrk is not installed: each connection sends its next request after the response to the one
 * before. `bun sockets-process.ts order.json` prints one line of JSON.
 */

const order = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Required<Pick<Order, 'connections'>> & Order;
const { callers, queries = [''], bodies, amount = Number.POSITIVE_INFINITY } = order;
const { hostname, port, host, pathname } = new URL(order.url);

const lines = Object.entries(order.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
const openings = queries.map((query) => `${order.method ?? 'GET'} ${pathname}${query} HTTP/1.1\r\nhost: ${host}\r\n`);
const closings = callers.map(
  ({ apiKey, entityId }) =>
    `${lines.join('')}api-key: ${apiKey}\r\nentity-id: ${entityId}\r\n${bodies === undefined ? '\r\n' : ''}`,
);
let number = order.from ?? 0;

/** Another caller and body each time, and another query after each round of callers. */
function nextRequest(): string {
  const opening = openings[Math.floor(number / callers.length) % queries.length] ?? '';
  const closing = closings[number % callers.length] ?? '';
  const body = bodies === undefined ? null : numbered(bodies, number);
  number++;
  if (body === null) return opening + closing;
  return `${opening}${closing}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

type State = { readonly responses: ResponseReader; sentAtMs: number };

const latenciesMs: number[] = [];
let requests = 0;
let errors = 0;
let startedAtMs = 0;

function send(socket: Socket<State>): void {
  socket.data.sentAtMs = performance.now();
  socket.write(nextRequest());
}

function read(socket: Socket<State>, chunk: Buffer): void {
  const { data } = socket;
  const status = data.responses.read(chunk);
  if (status === null) return;
  if (status >= 400) errors++;
  latenciesMs.push(performance.now() - data.sentAtMs);
  if (++requests === amount) finish();
  send(socket);
}

function finish(): never {
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const [p50Ms, p99Ms] = [quantile(latenciesMs, 0.5), quantile(latenciesMs, 0.99)];
  console.log(JSON.stringify({ requests, errors, perSecond: requests / seconds, p50Ms, p99Ms }));
  process.exit(0);
}

const socket = {
  data: read,
  close() {
    errors++;
  },
  error() {
    errors++;
  },
};
const opened = await Promise.all(
  Array.from({ length: order.connections }, () =>
    Bun.connect<State>({
      hostname,
      port: Number(port),
      data: { responses: new ResponseReader(), sentAtMs: 0 },
      socket,
    }),
  ),
);
startedAtMs = performance.now();
if (amount === Number.POSITIVE_INFINITY) setTimeout(finish, order.seconds * 1_000);
for (const one of opened) send(one);
