/** A receiver on loopback that stores every request and responds as configured. */
export type Receiver = AsyncDisposable & {
  readonly url: string;
  readonly received: readonly ReceivedRequest[];
  /** Sets the response to all further requests. */
  respondWith: (status: number, body?: string) => void;
};

export type ReceivedRequest = { readonly path: string; readonly headers: Headers; readonly body: string };

/** `delayMs` gives the delay of each response from the number of requests before it. */
export function startReceiver(delayMs: (count: number) => number = () => 0): Receiver {
  const received: ReceivedRequest[] = [];
  let reply = { status: 200, body: '{"received":true}' };
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      received.push({ path: new URL(request.url).pathname, headers: request.headers, body: await request.text() });
      const waitMs = delayMs(received.length - 1);
      if (waitMs > 0) await Bun.sleep(waitMs);
      return new Response(reply.body, { status: reply.status });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    received,
    respondWith(status, body = '') {
      reply = { status, body };
    },
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}
