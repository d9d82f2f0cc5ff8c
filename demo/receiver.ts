import { VerificationError } from '../src/verify/verification-error.ts';
import { verify } from '../src/verify/verify.ts';

/** A receiver as an integrator would write it: it checks the signature, and forgets nothing that it has seen. */
export class DemoReceiver {
  /** Event ids that were taken with a good signature. */
  readonly verified = new Set<string>();
  /** Event ids that came at least once. */
  readonly arrived = new Set<string>();
  /** Event ids that were turned down at first, to show a retry. */
  readonly refused = new Set<string>();
  posts = 0;
  badSignatures = 0;
  readonly #server;

  /** One of so many is turned down when it first comes. */
  constructor(
    private readonly secret: () => string,
    private readonly refuseOneIn: number,
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
    this.posts++;
    const eventId = request.headers.get('paybell-event-id') ?? '';
    try {
      await verify(await request.bytes(), request.headers, this.secret());
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error;
      this.badSignatures++;
      return new Response(error.message, { status: error.status });
    }
    const isNew = !this.arrived.has(eventId);
    this.arrived.add(eventId);
    if (isNew && this.arrived.size % this.refuseOneIn === 0) {
      this.refused.add(eventId);
      return new Response('try again', { status: 500 });
    }
    this.verified.add(eventId);
    return new Response('ok');
  }
}
