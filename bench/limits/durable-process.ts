import { Database } from 'bun:sqlite';
import { createHmac, randomBytes } from 'node:crypto';

/**
 * The limit of a durable delivery: the barest program with the same promise. It takes an event over HTTP, commits the event and a
 * row for each delivery with `synchronous = full`, signs and sends each one, and commits its end with the next group. It has no
 * tenants, filters, order, retries, limits or counters. `bun durable-process.ts '{"file": …, "routes": {"TransferCreated": [url, …]}}'`
 */

type Input = { file: string; routes: Record<string, string[]> };
type Incoming = { body: string; resolve: () => void };
type Delivery = { id: Buffer; url: string; body: string };

/** The default of DESTINATION_CONCURRENCY. */
const PER_DESTINATION = 16;
const MAX_GROUP = 200;

const { file, routes } = JSON.parse(process.argv[2] ?? '{}') as Input;
const secret = randomBytes(32);
const db = new Database(file, { create: true });
for (const sql of [
  'pragma journal_mode = wal',
  'pragma synchronous = full',
  'create table events (id blob primary key, created_at_ms integer, event text, transfer text, agreement text, body text)',
  'create index events_by_transfer on events (transfer, id) where transfer is not null',
  'create index events_by_agreement on events (agreement, id) where agreement is not null',
  'create table queue (id blob primary key, url text, due_ms integer)',
  'create index queue_due on queue (url, due_ms, id)',
  'create table deliveries (id blob primary key, url text, created_at_ms integer, ended_at_ms integer, status integer, response text)',
  'create index deliveries_by_url on deliveries (url, id)',
]) {
  db.run(sql);
}
const [begin, commit, addEvent, addToQueue, removeFromQueue, addDelivery] = [
  'begin immediate',
  'commit',
  'insert into events values (?, ?, ?, ?, ?, ?)',
  'insert into queue values (?, ?, ?)',
  'delete from queue where id = ?',
  'insert into deliveries values (?, ?, ?, ?, 1, ?)',
].map((sql) => db.prepare(sql)) as [Statement, Statement, Statement, Statement, Statement, Statement];
type Statement = ReturnType<Database['prepare']>;

const incoming: Incoming[] = [];
const ended: { delivery: Delivery; response: string }[] = [];
let isCommitting = false;
let count = 0;

/** Grows with time, so that new entries go to the end of each primary key. */
function nextId(): Buffer {
  const id = randomBytes(16);
  id.writeUIntBE(Date.now(), 0, 6);
  id.writeUInt32BE(count++, 6);
  return id;
}

function commitSoon(): void {
  if (isCommitting) return;
  isCommitting = true;
  setImmediate(() => setImmediate(commitGroup));
}

function commitGroup(): void {
  isCommitting = false;
  const accepted = incoming.splice(0, MAX_GROUP);
  const completed = ended.splice(0);
  const nowMs = Date.now();
  const started: Delivery[] = [];
  begin.run();
  for (const { body } of accepted) {
    const id = nextId();
    const { event, transferId = null, agreementId = null } = JSON.parse(body);
    addEvent.run(id, nowMs, event, transferId, agreementId, body);
    for (const [index, url] of (routes[event] ?? []).entries()) {
      const delivery = Buffer.from(id);
      delivery[15] = index;
      addToQueue.run(delivery, url, nowMs);
      started.push({ id: delivery, url, body });
    }
  }
  for (const { delivery, response } of completed) {
    removeFromQueue.run(delivery.id);
    addDelivery.run(delivery.id, delivery.url, nowMs, nowMs, response);
  }
  commit.run();
  for (const { resolve } of accepted) resolve();
  for (const delivery of started) destinationOf(delivery.url).add(delivery);
  if (incoming.length + ended.length > 0) commitSoon();
}

class Destination {
  readonly #waiting: Delivery[] = [];
  #busy = 0;

  add(delivery: Delivery): void {
    this.#waiting.push(delivery);
    if (this.#busy < PER_DESTINATION) void this.#work();
  }

  async #work(): Promise<void> {
    this.#busy++;
    for (let delivery = this.#waiting.shift(); delivery !== undefined; delivery = this.#waiting.shift()) {
      ended.push({ delivery, response: await send(delivery) });
      commitSoon();
    }
    this.#busy--;
  }
}

const destinations = new Map<string, Destination>();

function destinationOf(url: string): Destination {
  const known = destinations.get(url) ?? new Destination();
  destinations.set(url, known);
  return known;
}

async function send({ id, url, body }: Delivery): Promise<string> {
  const name = `dlv_${id.toString('hex')}`;
  const nowS = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac('sha256', secret).update(`${name}.${nowS}.${body}`).digest('base64');
  const response = await fetch(url, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'webhook-id': name,
      'webhook-timestamp': nowS,
      'webhook-signature': `v1,${signature}`,
    },
  });
  if (!response.ok) throw new Error(`${url} returned ${response.status}`);
  return response.text();
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  development: false,
  async fetch(request) {
    const body = await request.text();
    await new Promise<void>((resolve) => {
      incoming.push({ body, resolve });
      commitSoon();
    });
    return new Response('{"deliveries":1}', { status: 202, headers: { 'content-type': 'application/json' } });
  },
});

console.log(`listening on http://127.0.0.1:${server.port}`);
