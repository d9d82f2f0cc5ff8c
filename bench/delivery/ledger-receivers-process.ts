import type { LedgerEntry } from './ledger-receivers.ts';

/**
 * Receivers in a process of their own, one port each, so that they share no event loop with what is measured:
 * `bun ledger-receivers-process.ts <receivers> <index of the one that hangs> <beginning of the ids that are refused>`.
 * Prints its ports as JSON; the first port also serves `GET /ledger` and `GET /count`.
 */

const [receivers = '1', hangingIndex = '-1', refused = ''] = process.argv.slice(2);

const ledger: LedgerEntry[] = [];
let hanging = 0;

async function receive(request: Request, receiver: number): Promise<Response> {
  const receivedAtMs = performance.timeOrigin + performance.now();
  const { pathname } = new URL(request.url);
  if (pathname === '/ledger') return Response.json(ledger);
  if (pathname === '/count') return Response.json({ received: ledger.length, hanging });
  if (receiver === Number(hangingIndex)) {
    hanging++;
    return new Promise(() => undefined);
  }
  const eventId = request.headers.get('paybell-event-id') ?? '';
  const isRefused = refused !== '' && eventId.startsWith(refused);
  if (!isRefused) ledger.push({ eventId, receivedAtMs });
  await request.bytes();
  if (isRefused) return new Response('refused', { status: 503 });
  return new Response('ok');
}

const ports = Array.from({ length: Number(receivers) }, (_, receiver) => {
  const server = Bun.serve({
    // On every loopback address, so that one port serves any number of destinations.
    hostname: '0.0.0.0',
    port: 0,
    idleTimeout: 0,
    fetch: (request) => receive(request, receiver),
  });
  return server.port;
});

process.stdout.write(`${JSON.stringify(ports)}\n`);
