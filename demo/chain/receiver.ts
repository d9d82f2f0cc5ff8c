import { VerificationError } from '../../src/verify/verification-error.ts';
import { verify } from '../../src/verify/verify.ts';
import { Ledger, type ReceivedEvent } from './ledger.ts';

type Body = {
  event: string;
  transactionHash?: string;
  revision?: number;
  blockNumber?: number;
  blockHash?: string;
  amountBase?: string;
  retracts?: { eventId: string };
};

/** A receiver as an integrator would write it: it verifies, drops repetitions, and keeps a ledger. It fails at times. */
export class ChainReceiver {
  readonly ledger = new Ledger();
  requests = 0;
  invalidSignatures = 0;
  lastRequestAtMs = 0;
  readonly #arrived = new Set<string>();
  readonly #accepted = new Set<string>();
  readonly #server;

  constructor(
    private readonly secret: string,
    /** One in this many events fails at its first attempt. */
    private readonly failOneIn: number,
  ) {
    this.#server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => this.#receive(request) });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/hooks/payments`;
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }

  async #receive(request: Request): Promise<Response> {
    this.requests++;
    this.lastRequestAtMs = performance.now();
    const body = await request.bytes();
    try {
      await verify(body, request.headers, this.secret);
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error;
      this.invalidSignatures++;
      return new Response(error.message, { status: error.status });
    }
    const id = request.headers.get('webhook-id') ?? '';
    const isNew = !this.#arrived.has(id);
    this.#arrived.add(id);
    if (isNew && this.#arrived.size % this.failOneIn === 0) return new Response('try again', { status: 500 });
    if (!this.#accepted.has(id)) {
      this.ledger.add(
        entryOf(request.headers.get('paybell-event-id') ?? '', JSON.parse(new TextDecoder().decode(body))),
      );
    }
    this.#accepted.add(id);
    return new Response('ok');
  }
}

function entryOf(eventId: string, body: Body): ReceivedEvent {
  return {
    eventId,
    event: body.event,
    transactionHash: body.transactionHash ?? '',
    revision: body.revision ?? 0,
    blockNumber: body.blockNumber ?? null,
    blockHash: body.blockHash ?? null,
    amountBase: body.amountBase ?? null,
    retracts: body.retracts?.eventId ?? null,
  };
}
