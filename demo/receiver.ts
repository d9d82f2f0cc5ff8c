import { VerificationError } from '../src/verify/verification-error.ts';
import { verify } from '../src/verify/verify.ts';

/** A receiver as an integrator would write it. It verifies signatures, and fails some events at first to show retries. */
export class DemoReceiver {
  /** Ids of the events that were accepted with a valid signature. */
  readonly verified = new Set<string>();
  /** Ids of the events that arrived at least once. */
  readonly arrived = new Set<string>();
  /** Ids of the events that failed at first. */
  readonly failed = new Set<string>();
  invalidSignatures = 0;
  readonly #server;

  constructor(
    private readonly secret: string,
    /** One in this many events fails at its first attempt. */
    private readonly failOneIn: number,
  ) {
    this.#server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => this.#receive(request) });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/hooks/paybell`;
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }

  async #receive(request: Request): Promise<Response> {
    const eventId = request.headers.get('paybell-event-id') ?? '';
    try {
      await verify(await request.bytes(), request.headers, this.secret);
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error;
      this.invalidSignatures++;
      return new Response(error.message, { status: error.status });
    }
    const isNew = !this.arrived.has(eventId);
    this.arrived.add(eventId);
    if (isNew && this.arrived.size % this.failOneIn === 0) {
      this.failed.add(eventId);
      return new Response('try again', { status: 500 });
    }
    this.verified.add(eventId);
    return new Response('ok');
  }
}
