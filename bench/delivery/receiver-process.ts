/**
 * Receivers in a process of their own, one port each, so that they share no event loop with what is measured. Prints
 * its ports as JSON and keeps a ledger of what came; the port of the first answers `GET /ledger` and `GET /count`.
 */

const [count = '1', replyMs = '0', hanging = '-1'] = process.argv.slice(2);

/** What is flying at the moment, to see whether one delivery is ever posted by two at a time. */
const flying = new Set<string>();
const ledger: { eventId: string; deliveryId: string; receivedAtMs: number; from: string }[] = [];
let together = 0;
let hung = 0;

const nowMs = () => performance.timeOrigin + performance.now();

async function receive(request: Request, receiver: number): Promise<Response> {
  const receivedAtMs = nowMs();
  const { pathname } = new URL(request.url);
  if (pathname === '/ledger') return Response.json({ ledger, together });
  if (pathname === '/count') return Response.json({ count: ledger.length, hung });
  if (receiver === Number(hanging)) {
    hung++;
    return new Promise(() => undefined);
  }
  const deliveryId = request.headers.get('webhook-id') ?? '';
  const from = request.headers.has('x-from-two') ? 'two' : 'one';
  ledger.push({ eventId: request.headers.get('paybell-event-id') ?? '', deliveryId, receivedAtMs, from });
  if (flying.has(deliveryId)) together++;
  flying.add(deliveryId);
  await request.bytes();
  if (Number(replyMs) > 0) await Bun.sleep(Number(replyMs));
  flying.delete(deliveryId);
  return new Response('ok');
}

const ports = Array.from({ length: Number(count) }, (_, receiver) => {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: (request) => receive(request, receiver),
  });
  return server.port;
});

process.stdout.write(`${JSON.stringify(ports)}\n`);

export {};
