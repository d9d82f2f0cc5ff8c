/** A receiver on loopback with a path for each webhook. It keeps what arrives, and answers as each path is told to. */

export type Arrival = {
  readonly path: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly event: string;
  readonly revision: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** Whether the request was responded to with a 2xx. Null before it was. */
  accepted: boolean | null;
};

/** The status of the response. A promise holds the response back. */
type Answer = (arrival: Arrival) => number | Promise<number>;

export class Inbox implements AsyncDisposable {
  /** In the order of arrival, each attempt for itself. */
  readonly arrivals: Arrival[] = [];
  readonly #answers = new Map<string, Answer>();
  readonly #server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: (request) => this.#receive(request),
  });

  urlOf(path: string): string {
    return `http://127.0.0.1:${this.#server.port}/${path}`;
  }

  answer(path: string, answer: Answer): void {
    this.#answers.set(path, answer);
  }

  at(path: string): Arrival[] {
    return this.arrivals.filter((arrival) => arrival.path === path);
  }

  /** Kind and revision of what arrived at a path, as in `TransferProcessed 1`. */
  titlesAt(path: string): string[] {
    return this.at(path).map(({ event, revision }) => `${event} ${revision}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }

  async #receive(request: Request): Promise<Response> {
    const body = (await request.json()) as Record<string, unknown>;
    const path = new URL(request.url).pathname.slice(1);
    const arrival: Arrival = {
      path,
      webhookId: request.headers.get('webhook-id') ?? '',
      eventId: request.headers.get('paybell-event-id') ?? '',
      event: String(body.event),
      revision: Number(body.revision ?? 0),
      body,
      accepted: null,
    };
    this.arrivals.push(arrival);
    const status = await (this.#answers.get(path)?.(arrival) ?? 200);
    arrival.accepted = status < 300;
    return new Response(null, { status });
  }
}
