import { type PaybellEvent, VerificationError, verify } from '@paybell/client/verify';
import express, { type ErrorRequestHandler } from 'express';

/** A receiver with Express. `PAYBELL_SECRETS` has the active secrets, separated by spaces. */

const secrets = (process.env.PAYBELL_SECRETS ?? '').split(' ');

/** In production, use a unique column, written in the same transaction as the effects of the event. */
const handled = new Set<string>();

const app = express();

// Keeps the raw bytes for this path. `express.json()` must not run before it: a body that was parsed and serialized
// again is not what was signed.
app.post('/hooks/paybell', express.raw({ type: 'application/json', limit: '256kb' }), async (request, response) => {
  const event = await verify(request.body, request.headers, secrets);
  const id = request.get('webhook-id') ?? '';
  if (!handled.has(id)) handle(event);
  handled.add(id);
  response.sendStatus(204);
});

const respondToError: ErrorRequestHandler = (error, _request, response, next) => {
  if (!(error instanceof VerificationError)) return next(error);
  response.status(error.status).send(error.reason);
};
app.use(respondToError);

function handle(event: PaybellEvent): void {
  if (event.event === 'TransferFinalized') console.log(`paid: ${event.amount} ${event.currency}`);
  // Undo what was done for that event, if anything: the header `paybell-event-id` of its request had this id.
  else if (event.event === 'EventRetracted') console.log(`taken back: ${event.retracts.eventId}`);
  else console.log(`received: ${event.event}`);
}

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log('listening on', server.address());
});
