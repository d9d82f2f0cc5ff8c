/**
 * Receives deliveries on as many ports as asked for, each a destination of its own:
 * `bun counting-receiver-process.ts '{"ports": 10}'`. GET on the first port returns how many arrived and how long they
 * took since the `sentAtMs` in their body; `GET /reset` also sets the counts to zero.
 */

const { ports } = JSON.parse(process.argv[2] ?? '{}') as { ports: number };
let received = 0;
let firstAtMs = 0;
let lastAtMs = 0;
let delaysMs: number[] = [];

const nowMs = () => performance.timeOrigin + performance.now();

async function receive(request: Request): Promise<Response> {
  const body = await request.text();
  lastAtMs = nowMs();
  if (received++ === 0) firstAtMs = lastAtMs;
  const sentAtMs = /"sentAtMs":([0-9.]+)/.exec(body)?.[1];
  if (sentAtMs !== undefined) delaysMs.push(lastAtMs - Number(sentAtMs));
  return new Response('ok');
}

const servers = Array.from({ length: ports }, () =>
  Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    fetch: (request) => {
      if (request.method === 'POST') return receive(request);
      const report = Response.json({ received, firstAtMs, lastAtMs, delaysMs, ports: servers.map(({ port }) => port) });
      if (new URL(request.url).pathname === '/reset') [received, delaysMs] = [0, []];
      return report;
    },
  }),
);

console.log(`listening on http://127.0.0.1:${servers[0]?.port}`);
