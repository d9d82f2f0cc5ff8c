/**
 * The limit of a list request: Bun's server alone, which checks the URL and the two headers and always returns the same
 * bytes with the same headers. `bun bare-server-process.ts '{"body": …, "headers": …}'`
 */

const { body, headers } = JSON.parse(process.argv[2] ?? '{}') as { body: string; headers: Record<string, string> };
const bytes = new TextEncoder().encode(body);

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  development: false,
  fetch(request) {
    const known = request.url.includes('/webhooks/classic');
    const allowed = request.headers.get('api-key') !== null && request.headers.get('entity-id') !== null;
    return known && allowed ? new Response(bytes, { headers }) : new Response(null, { status: 404 });
  },
});

console.log(`listening on http://127.0.0.1:${server.port}`);
