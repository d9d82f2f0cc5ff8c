import { readFileSync } from 'node:fs';
import type { Socket } from 'bun';
import { quantile } from '../harness/rounds.ts';
import type { Order } from './order.ts';

/**
 * The load generator where wrk is not installed: each connection sends its next request after the response to the one
 * before. `bun sockets-process.ts order.json` prints one line of JSON. It parses only the status and the length of a
 * response, so that its own work stays small.
 */

const order = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Required<Pick<Order, 'connections'>> & Order;
const { callers, queries = [''], amount = Number.POSITIVE_INFINITY } = order;
const { hostname, port, host, pathname } = new URL(order.url);
const END_OF_HEAD = '\r\n\r\n';
const STATUS_AT = 'HTTP/1.1 '.length;

const lines = Object.entries(order.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
const length = order.body === undefined ? '' : `content-length: ${Buffer.byteLength(order.body)}\r\n`;
const openings = queries.map((query) => `${order.method ?? 'GET'} ${pathname}${query} HTTP/1.1\r\nhost: ${host}\r\n`);
const closings = callers.map(
  ({ apiKey, entityId }) =>
    `${lines.join('')}${length}api-key: ${apiKey}\r\nentity-id: ${entityId}\r\n\r\n${order.body ?? ''}`,
);
let number = order.from ?? 0;

/** Another caller each time, and another query after each round of callers. */
function nextRequest(): string {
  const opening = openings[Math.floor(number / callers.length) % queries.length] ?? '';
  const closing = closings[number % callers.length] ?? '';
  number++;
  return opening + closing;
}

/** `missing` bytes of a body, or a head of which `received` is the part that arrived so far. */
type State = { missing: number; received: Buffer | null; sentAtMs: number };

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
  if (data.missing > 0) data.missing -= chunk.length;
  else {
    const bytes = data.received === null ? chunk : Buffer.concat([data.received, chunk]);
    const end = bytes.indexOf(END_OF_HEAD);
    data.received = end === -1 ? Buffer.from(bytes) : null;
    if (end === -1) return;
    const head = bytes.toString('latin1', 0, end);
    if (head.charCodeAt(STATUS_AT) >= '4'.charCodeAt(0)) errors++;
    const size = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    data.missing = end + END_OF_HEAD.length + size - bytes.length;
  }
  if (data.missing > 0) return;
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
      data: { missing: 0, received: null, sentAtMs: 0 },
      socket,
    }),
  ),
);
startedAtMs = performance.now();
if (amount === Number.POSITIVE_INFINITY) setTimeout(finish, order.seconds * 1_000);
for (const one of opened) send(one);
