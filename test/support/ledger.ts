/** A receiver on loopback that keeps a ledger of every post, and answers as it is told to. */

export type ReceivedPost = {
  path: string;
  deliveryId: string;
  eventId: string;
  headers: Record<string, string>;
  body: Uint8Array;
  /** When its head had come, in Unix milliseconds. */
  receivedAtMs: number;
};

export type Reply = (post: ReceivedPost, earlier: number) => Response | Promise<Response>;

export class Ledger implements AsyncDisposable {
  readonly posts: ReceivedPost[] = [];
  readonly #earlier = new Map<string, number>();
  readonly #server;

  constructor(public reply: Reply = () => new Response('ok')) {
    this.#server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      idleTimeout: 60,
      fetch: (request) => this.#receive(request),
    });
  }

  url(path = '/hook'): string {
    return `http://127.0.0.1:${this.#server.port}${path}`;
  }

  eventIds(): Set<string> {
    return new Set(this.posts.map(({ eventId }) => eventId));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }

  async #receive(request: Request): Promise<Response> {
    const receivedAtMs = performance.timeOrigin + performance.now();
    const post: ReceivedPost = {
      path: new URL(request.url).pathname,
      deliveryId: request.headers.get('webhook-id') ?? '',
      eventId: request.headers.get('paybell-event-id') ?? '',
      headers: Object.fromEntries(request.headers),
      body: await request.bytes(),
      receivedAtMs,
    };
    this.posts.push(post);
    const earlier = this.#earlier.get(post.deliveryId) ?? 0;
    this.#earlier.set(post.deliveryId, earlier + 1);
    return this.reply(post, earlier);
  }
}
