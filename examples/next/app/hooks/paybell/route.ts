import { type PaybellEvent, VerificationError, verify } from 'paybell/verify';

/**
 * A receiver in the app router of Next: POST /hooks/paybell. `PAYBELL_SECRETS` holds the secrets in force, with a space
 * between them.
 */

/** In a real receiver: a unique column, written in the transaction that acts on the event. */
const handled = new Set<string>();

export async function POST(request: Request): Promise<Response> {
  const secrets = (process.env.PAYBELL_SECRETS ?? '').split(' ');
  try {
    // The bytes as they came: `request.json()` would parse them, and what is written again is no longer what was signed.
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
  else console.log(`seen: ${event.event}`);
}
