import express, { type ErrorRequestHandler } from 'express';
import { type PaybellEvent, VerificationError, verify } from 'paybell/verify';

/** A receiver on Express. `PAYBELL_SECRETS` holds the secrets in force, with a space between them. */

const secrets = (process.env.PAYBELL_SECRETS ?? '').split(' ');

/** In a real receiver: a unique column, written in the transaction that acts on the event. */
const handled = new Set<string>();

const app = express();

// The bytes as they came, for this path alone. `express.json()` must not run before it: what is parsed and written
// again is no longer what was signed.
app.post('/hooks/paybell', express.raw({ type: 'application/json', limit: '256kb' }), async (request, response) => {
  const event = await verify(request.body, request.headers, secrets);
  const id = request.get('webhook-id') ?? '';
  if (!handled.has(id)) handle(event);
  handled.add(id);
  response.sendStatus(204);
});

const refuse: ErrorRequestHandler = (error, _request, response, next) => {
  if (!(error instanceof VerificationError)) return next(error);
  response.status(error.status).send(error.reason);
};
app.use(refuse);

function handle(event: PaybellEvent): void {
  if (event.event === 'TransferFinalized') console.log(`paid: ${event.amount} ${event.currency}`);
  else console.log(`seen: ${event.event}`);
}

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log('listening on', server.address());
});
