import { Hono } from 'hono';
import { type PaybellEvent, VerificationError, verify } from 'paybell/verify';

/** A receiver on Hono. `PAYBELL_SECRETS` holds the secrets in force, with a space between them. */

const secrets = (process.env.PAYBELL_SECRETS ?? '').split(' ');

/** In a real receiver: a unique column, written in the transaction that acts on the event. */
const handled = new Set<string>();

const app = new Hono();

app.post('/hooks/paybell', async (c) => {
  // The bytes as they came: `c.req.json()` would parse them, and what is written again is no longer what was signed.
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
  else console.log(`seen: ${event.event}`);
}

// On Bun; on Deno it is `Deno.serve(app.fetch)`, and on Node `serve(app)` of @hono/node-server.
const server = Bun.serve({ port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1', fetch: app.fetch });
console.log('listening on', { port: server.port });
