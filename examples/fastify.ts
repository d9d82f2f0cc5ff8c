import { type PaybellEvent, VerificationError, verify } from '@paybell/client/verify';
import fastify from 'fastify';

/** A receiver with Fastify. `PAYBELL_SECRETS` has the active secrets, separated by spaces. */

const secrets = (process.env.PAYBELL_SECRETS ?? '').split(' ');

/** In production, use a unique column, written in the same transaction as the effects of the event. */
const handled = new Set<string>();

const app = fastify();

app.register((hooks, _options, ready) => {
  // Fastify parses JSON by default. In this plugin, and only here, the body stays the raw bytes.
  hooks.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

  hooks.post<{ Body: Buffer }>('/hooks/paybell', async (request, reply) => {
    const event = await verify(request.body, request.headers, secrets);
    const id = String(request.headers['webhook-id']);
    if (!handled.has(id)) handle(event);
    handled.add(id);
    return reply.code(204).send();
  });
  ready();
});

app.setErrorHandler((error, _request, reply) => {
  if (!(error instanceof VerificationError)) throw error;
  return reply.code(error.status).send(error.reason);
});

function handle(event: PaybellEvent): void {
  if (event.event === 'TransferFinalized') console.log(`paid: ${event.amount} ${event.currency}`);
  // Undo what was done for that event, if anything: the header `paybell-event-id` of its request had this id.
  else if (event.event === 'EventRetracted') console.log(`taken back: ${event.retracts.eventId}`);
  else console.log(`received: ${event.event}`);
}

await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' });
console.log('listening on', app.server.address());
