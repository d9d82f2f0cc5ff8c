import type { FakeNode } from './fake-node.ts';

/** A node of the model as an HTTP server on loopback. */
export function serveNode({ exchange }: FakeNode) {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => Response.json(await exchange(await request.json())),
  });
  return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) };
}
