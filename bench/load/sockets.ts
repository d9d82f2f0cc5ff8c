import { readFileSync } from 'node:fs';
import type { Socket } from 'bun';
import { quantile } from '../harness/rounds.ts';
import type { Order } from './order.ts';

/**
 * A load generator where wrk is not installed: as many connections as asked for, each sending its next request when the one
 * before is answered. `bun sockets.ts order.json` prints one line of JSON. It reads no more of an answer than it has to.
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

/** Another caller each time, and another query once all callers had their turn. */
function nextRequest(): string {
  const opening = openings[Math.floor(number / callers.length) % queries.length] ?? '';
  const closing = closings[number % callers.length] ?? '';
  number++;
  return opening + closing;
}

/** What a connection still waits for: so many bytes of a body, or the head of an answer, of which this came already. */
type State = { missing: number; begun: Buffer | null; sentAtMs: number };

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
    const bytes = data.begun === null ? chunk : Buffer.concat([data.begun, chunk]);
    const end = bytes.indexOf(END_OF_HEAD);
    data.begun = end === -1 ? Buffer.from(bytes) : null;
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
      data: { missing: 0, begun: null, sentAtMs: 0 },
      socket,
    }),
  ),
);
startedAtMs = performance.now();
if (amount === Number.POSITIVE_INFINITY) setTimeout(finish, order.seconds * 1_000);
for (const one of opened) send(one);
