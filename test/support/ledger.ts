/** A receiver on loopback that records every request, and responds as `reply` says. Each of its ports is a destination. */

export type ReceivedRequest = {
  path: string;
  deliveryId: string;
  eventId: string;
  headers: Record<string, string>;
  body: Uint8Array;
  /** When its head had arrived, in Unix milliseconds. */
  receivedAtMs: number;
};

/** `earlier` is the number of requests of the same delivery before this one. */
export type Reply = (request: ReceivedRequest, earlier: number) => Response | Promise<Response>;

export class Ledger implements AsyncDisposable {
  readonly requests: ReceivedRequest[] = [];
  readonly #earlier = new Map<string, number>();
  readonly #servers;

  constructor(
    public reply: Reply = () => new Response('ok'),
    ports = 1,
  ) {
    const serve = () =>
      Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 60, fetch: (request) => this.#receive(request) });
    this.#servers = Array.from({ length: ports }, serve);
  }

  /** With more indexes than ports, several share one. */
  url(path = '/hook', index = 0): string {
    return `http://127.0.0.1:${this.#servers[index % this.#servers.length]?.port}${path}`;
  }

  eventIds(): Set<string> {
    return new Set(this.requests.map(({ eventId }) => eventId));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop(true)));
  }

  async #receive(request: Request): Promise<Response> {
    const receivedAtMs = performance.timeOrigin + performance.now();
    const received: ReceivedRequest = {
      path: new URL(request.url).pathname,
      deliveryId: request.headers.get('webhook-id') ?? '',
      eventId: request.headers.get('paybell-event-id') ?? '',
      headers: Object.fromEntries(request.headers),
      body: await request.bytes(),
      receivedAtMs,
    };
    this.requests.push(received);
    const earlier = this.#earlier.get(received.deliveryId) ?? 0;
    this.#earlier.set(received.deliveryId, earlier + 1);
    return this.reply(received, earlier);
  }
}
