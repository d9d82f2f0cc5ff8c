import { type PaybellEvent, VerificationError, verify } from '@paybell/client/verify';
import { Hono } from 'hono';

/** A receiver with Hono. `PAYBELL_SECRETS` has the active secrets, separated by spaces. */

const secrets = (process.env.PAYBELL_SECRETS ?? '').split(' ');

/** In production, use a unique column, written in the same transaction as the effects of the event. */
const handled = new Set<string>();

const app = new Hono();

app.post('/hooks/paybell', async (c) => {
  // The raw bytes: `c.req.json()` would parse them, and a body that is serialized again is not what was signed.
  const event = await verify(await c.req.arrayBuffer(), c.req.raw.headers, secrets);
  const id = c.req.header('webhook-id') ?? '';
  if (!handled.has(id)) handle(event);
  handled.add(id);
  return c.body(null, 204);
});

app.onError((error, c) => {
  if (!(error instanceof VerificationError)) throw error;
  return c.text(error.reason, error.status);
});

function handle(event: PaybellEvent): void {
  if (event.event === 'TransferFinalized') console.log(`paid: ${event.amount} ${event.currency}`);
  // Undo what was done for that event, if anything: the header `paybell-event-id` of its request had this id.
  else if (event.event === 'EventRetracted') console.log(`taken back: ${event.retracts.eventId}`);
  else console.log(`received: ${event.event}`);
}

// For Bun. On Deno use `Deno.serve(app.fetch)`, on Node `serve(app)` of @hono/node-server.
const server = Bun.serve({ port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1', fetch: app.fetch });
console.log('listening on', { port: server.port });
