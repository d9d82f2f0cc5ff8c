import { type PaybellEvent, VerificationError, verify } from '@paybell/client/verify';

/**
 * A receiver in the app router of Next.js: POST /hooks/paybell. `PAYBELL_SECRETS` has the active secrets, separated by
 * spaces.
 */

/** In production, use a unique column, written in the same transaction as the effects of the event. */
const handled = new Set<string>();

export async function POST(request: Request): Promise<Response> {
  const secrets = (process.env.PAYBELL_SECRETS ?? '').split(' ');
  try {
    // The raw bytes: `request.json()` would parse them, and a body that is serialized again is not what was signed.
    const event = await verify(await request.arrayBuffer(), request.headers, secrets);
    const id = request.headers.get('webhook-id') ?? '';
    if (!handled.has(id)) handle(event);
    handled.add(id);
    return new Response(null, { status: 204 });
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error;
    return new Response(error.reason, { status: error.status });
  }
}

function handle(event: PaybellEvent): void {
  if (event.event === 'TransferFinalized') console.log(`paid: ${event.amount} ${event.currency}`);
  // Undo what was done for that event, if anything: the header `paybell-event-id` of its request had this id.
  else if (event.event === 'EventRetracted') console.log(`taken back: ${event.retracts.eventId}`);
  else console.log(`received: ${event.event}`);
}
