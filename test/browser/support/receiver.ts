/** A receiver on loopback that remembers what came and answers as it is told. */
export type Receiver = AsyncDisposable & {
  readonly url: string;
  readonly received: readonly Post[];
  /** From now on it answers with this status. */
  answerWith: (status: number, body?: string) => void;
};

export type Post = { readonly path: string; readonly headers: Headers; readonly body: string };

/** `delayMs` is asked before each answer, with how many came before. */
export function startReceiver(delayMs: (count: number) => number = () => 0): Receiver {
  const received: Post[] = [];
  let answer = { status: 200, body: '{"received":true}' };
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      received.push({ path: new URL(request.url).pathname, headers: request.headers, body: await request.text() });
      const waitMs = delayMs(received.length - 1);
      if (waitMs > 0) await Bun.sleep(waitMs);
      return new Response(answer.body, { status: answer.status });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    received,
    answerWith(status, body = '') {
      answer = { status, body };
    },
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}
