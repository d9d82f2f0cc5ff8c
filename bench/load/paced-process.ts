import { readFileSync } from 'node:fs';
import type { Socket } from 'bun';
import { numbered } from '../harness/event-bodies.ts';
import { quantile } from '../harness/rounds.ts';
import type { PacedOrder, PacedOutput } from './paced.ts';
import { ResponseReader } from './response-reader.ts';

/**
 * Sends requests at a fixed rate, each about another transfer, and prints how many, and after what time they had a response:
 * `bun paced-process.ts request.json`. What is due while all connections wait for a response is sent by the first that is free,
 * with the time at which it was due.
 */

const order = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as PacedOrder;
const { request, perSecond, total, from } = order;
const { hostname, port, host, pathname } = new URL(request.url);
const CONNECTIONS = 64;
const STAMP = '"sentAtMs":0';
const lines = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}\r\n`);
const head = `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\n${lines.join('')}`;

function requestText(number: number, sinceMs: number): string {
  const stamped = `${STAMP.slice(0, -1)}${(performance.timeOrigin + sinceMs).toFixed(3)}`;
  const body = numbered(request.bodies, number).replace(STAMP, stamped);
  return `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

type Connection = Socket<{ readonly response: ResponseReader; sinceMs: number }>;

/** The one that waits longest is next: the server closes connections that are idle. */
const free: Connection[] = [];
const responseMs = new Float64Array(total);
const ended = Promise.withResolvers<void>();
let sent = 0;
let completed = 0;
let startedAtMs = 0;

/** How many requests are due by now. */
function due(): number {
  return Math.min(total, 1 + Math.floor(((performance.now() - startedAtMs) / 1_000) * perSecond));
}

function sendDue(): void {
  const until = due();
  while (sent < until) {
    const socket = free.shift();
    if (socket === undefined) return;
    socket.data.sinceMs = startedAtMs + (sent / perSecond) * 1_000;
    socket.write(requestText(from + sent, socket.data.sinceMs));
    sent++;
  }
}

const socket = {
  data(one: Connection, chunk: Buffer) {
    const status = one.data.response.read(chunk);
    if (status === null) return;
    responseMs[completed] = performance.now() - one.data.sinceMs;
    if (status >= 400) ended.reject(new Error(`POST ${request.url} returned ${status}`));
    free.push(one);
    if (++completed === total) ended.resolve();
    else sendDue();
  },
  close: () => ended.reject(new Error(`${request.url} closed a connection`)),
  error: (_: unknown, error: Error) => ended.reject(error),
};
for (let i = 0; i < CONNECTIONS; i++) {
  free.push(
    await Bun.connect({ hostname, port: Number(port), data: { response: new ResponseReader(), sinceMs: 0 }, socket }),
  );
}
startedAtMs = performance.now();
const timer = setInterval(sendDue, 1);
await ended.promise;
clearInterval(timer);

const output: PacedOutput = {
  sent: total,
  responseP50Ms: quantile([...responseMs], 0.5),
  responseP99Ms: quantile([...responseMs], 0.99),
};
process.stdout.write(`${JSON.stringify(output)}\n`);
process.exit(0);
