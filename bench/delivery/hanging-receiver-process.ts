/**
 * Accepts every connection on every loopback address and never responds; with `--responding`, only after SIGUSR1. In a
 * process of its own, so that thousands of connections share no event loop with what is measured. Prints its port as
 * JSON.
 */

function listen(): number {
  return Bun.listen({ hostname: '0.0.0.0', port: 0, socket: { data: () => undefined } }).port;
}

function respondUntilSignal(): number | undefined {
  let hanging = false;
  process.on('SIGUSR1', () => {
    hanging = true;
  });
  const fetch = async (request: Request) => {
    await request.bytes();
    return hanging ? new Promise<Response>(() => undefined) : new Response('ok');
  };
  return Bun.serve({ hostname: '0.0.0.0', port: 0, idleTimeout: 0, fetch }).port;
}

const port = process.argv.includes('--responding') ? respondUntilSignal() : listen();
process.stdout.write(`${JSON.stringify([port])}\n`);
