import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { type BookEntry, Paybell } from '@paybell/client';
import { checkSequence, type PaybellEvent, SequenceTracker, VerificationError, verify } from '@paybell/client/verify';

/**
 * A shop that is paid on a network. It creates an invoice for each order, receives events, gives up a payment that a
 * reorganisation undoes, repairs gaps from the feed, and compares its books with Paybell's.
 *
 * POST /orders {"amount": "25"}   creates an order and its invoice
 * GET /orders/{orderId}           says whether it is paid, and whether it was shipped
 * GET /books?day=2026-01-31       compares the events of the day with Paybell's
 */

const { PAYBELL_URL = 'http://127.0.0.1:8080', PAYBELL_ENTITY_ID = '', PAYBELL_API_KEY = '' } = process.env;
const { TOKEN = '', ADDRESSES = '', JOURNAL = 'shop.ndjson' } = process.env;
const networkId = Number(process.env.NETWORK_ID);
const paybell = new Paybell({ url: PAYBELL_URL, entityId: PAYBELL_ENTITY_ID, apiKey: PAYBELL_API_KEY });
const EVENTS = ['TransferCreated', 'TransferProcessed', 'TransferFinalized', 'LatePayment'];
const DAY_S = 86_400;
const REPAIR_MS = 1_000;

type Order = { address: string; state: string; received: string; isShipped: boolean; versions: Record<string, number> };
/** One line of the journal. In production, a table with a unique column for the number. */
type Handled = { endpointId: string; sequence: number; event: PaybellEvent };

const orders = new Map<string, Order>();
const books: { day: string; entry: BookEntry }[] = [];
const trackers = new Map<string, SequenceTracker>();

/** Changes the order that an event is about. The events of one invoice may come in any order: the highest version is true. */
function apply(event: PaybellEvent): void {
  if (!('dateCreated' in event)) return;
  const { eventId, token, amount } = event as BookEntry;
  books.push({ day: dayOf(event.dateCreated), entry: { eventId, event: event.event, token, amount } });
  if (!('invoice' in event) || event.invoice?.reference === undefined) return;
  const { reference, version, state, received, isFinal } = event.invoice;
  const order = orders.get(reference) ?? newOrder('payee' in event ? event.payee : '');
  orders.set(reference, order);
  const isAboutFinal =
    event.event === 'TransferFinalized' ||
    (event.event === 'EventRetracted' && event.retracts.event === 'TransferFinalized');
  const level = isAboutFinal ? 'final' : 'seen';
  if (version <= (order.versions[level] ?? 0)) return;
  order.versions[level] = version;
  // Customers see early what they have paid. Only a payment that cannot be undone ships.
  if (level === 'seen') Object.assign(order, { state, received });
  else if (isFinal && (state === 'paid' || state === 'overpaid') && !order.isShipped) {
    order.isShipped = true;
    console.log(`shipped: ${reference}`);
  }
}

function newOrder(address: string): Order {
  return { address, state: 'open', received: '0', isShipped: false, versions: {} };
}

function dayOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

/** Handles each number once, whether a request or the feed brings it. */
function handleOnce({ endpointId, sequence, event }: Handled): void {
  const tracker = trackers.get(endpointId) ?? new SequenceTracker();
  trackers.set(endpointId, tracker);
  if (!tracker.add(sequence)) return;
  appendFileSync(JOURNAL, `${JSON.stringify({ endpointId, sequence, event })}\n`);
  apply(event);
}

/** Everything that the journal has was handled before the process ended. */
function replay(): void {
  if (!existsSync(JOURNAL)) return;
  for (const line of readFileSync(JOURNAL, 'utf8').trim().split('\n').filter(Boolean)) {
    const { endpointId, sequence, event } = JSON.parse(line) as Handled;
    const tracker = trackers.get(endpointId) ?? new SequenceTracker();
    trackers.set(endpointId, tracker);
    if (tracker.add(sequence)) apply(event);
  }
}

/** The feed has every number, including those that never reached this program. */
async function repair(endpointId: string): Promise<void> {
  const tracker = trackers.get(endpointId) ?? new SequenceTracker();
  trackers.set(endpointId, tracker);
  const { firstSequence, deliveries } = await paybell.endpoints.readFeed(endpointId, { after: tracker.through });
  tracker.skipThrough(firstSequence - 1);
  for (const { sequence, body, status } of deliveries) {
    const isTrue = body !== null && status !== 'superseded' && status !== 'cancelled';
    if (isTrue) handleOnce({ endpointId, sequence, event: JSON.parse(body) as PaybellEvent });
    else tracker.add(sequence);
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** An address has one open invoice. A wallet derives as many as the shop needs. */
async function order(amount: string): Promise<{ orderId: string; address: string }> {
  const used = new Set([...orders.values()].map(({ address }) => address.toLowerCase()));
  const address = ADDRESSES.split(',').find((each) => !used.has(each.toLowerCase()));
  if (address === undefined) throw new Error('no address is left');
  const orderId = crypto.randomUUID();
  orders.set(orderId, newOrder(address));
  const dateExpires = Math.floor(Date.now() / 1000) + DAY_S;
  await paybell.invoices.create({ networkId, token: TOKEN, address, amount, dateExpires, reference: orderId });
  return { orderId, address };
}

async function compareBooks(day: string): Promise<object> {
  const own = books.flatMap((line) => (line.day === day ? line.entry : []));
  const { agrees, differences, paybell: theirs } = await paybell.reconcile({ day, networkId }, own);
  return { agrees, differences, tokens: theirs.tokens };
}

async function answer(request: IncomingMessage): Promise<{ status: number; body?: object }> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://shop');
  if (pathname === '/hooks/paybell') {
    const event = await verify(await bodyOf(request), request.headers, secrets);
    const received = await checkSequence(request.headers, secrets);
    if (received !== null) handleOnce({ ...received, event });
    return { status: 204 };
  }
  if (pathname === '/orders' && request.method === 'POST') {
    const { amount } = JSON.parse(String(await bodyOf(request))) as { amount: string };
    return { status: 201, body: await order(amount) };
  }
  if (pathname === '/books') return { status: 200, body: await compareBooks(searchParams.get('day') ?? '') };
  const found = orders.get(pathname.slice('/orders/'.length));
  return found === undefined ? { status: 404 } : { status: 200, body: found };
}

async function endpointIds(): Promise<string[]> {
  const all = await Array.fromAsync(paybell.endpoints.listAll());
  return all.flatMap((endpoint) => (endpoint.postUrl === postUrl ? endpoint.endpointId : []));
}

replay();
const secrets = (await paybell.secrets.list()).secrets.map(({ secret }) => secret);
const server = createServer(async (request, response) => {
  let result: { status: number; body?: object };
  try {
    result = await answer(request);
  } catch (error) {
    const isRefused = error instanceof VerificationError;
    if (!isRefused) console.error(error);
    result = isRefused ? { status: error.status, body: { error: error.reason } } : { status: 500 };
  }
  const text = result.body === undefined ? '' : JSON.stringify(result.body);
  response.writeHead(result.status, { 'content-type': 'application/json' }).end(text);
});
await new Promise<void>((resolve) => server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', resolve));
const address = server.address();
const port = typeof address === 'object' ? address?.port : null;
const postUrl = process.env.PUBLIC_URL ?? `http://127.0.0.1:${port}/hooks/paybell`;
if ((await endpointIds()).length === 0) {
  await paybell.webhooks.register({ postUrl, networkIds: [networkId], events: EVENTS });
}
console.log('listening on', { port });

for (;;) {
  await new Promise((resolve) => setTimeout(resolve, REPAIR_MS));
  try {
    for (const endpointId of await endpointIds()) await repair(endpointId);
  } catch (error) {
    console.error('the feed could not be read, and is read again', error);
  }
}
