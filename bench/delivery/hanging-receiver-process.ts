/**
 * Accepts every connection on every loopback address and never responds. In a process of its own, so that thousands of
 * connections share no event loop with what is measured. Prints its port as JSON.
 */

const listener = Bun.listen({ hostname: '0.0.0.0', port: 0, socket: { data: () => undefined } });

process.stdout.write(`${JSON.stringify([listener.port])}\n`);
