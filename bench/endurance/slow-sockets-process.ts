import type { Socket } from 'bun';

/**
 * Holds connections that send a byte a second and never finish their request, and opens another for each that the server
 * closes: `bun slow-sockets-process.ts '{"url":…,"sockets":5000,"beginnings":[…]}'`. Prints its counts every second.
 */

type Input = { url: string; sockets: number; beginnings: string[] };

const { url, sockets, beginnings } = JSON.parse(process.argv[2] ?? '') as Input;
const { hostname, port } = new URL(url);
const AT_ONCE = 200;
const DRIP_EVERY_MS = 1_000;

const held = new Set<Socket>();
let opened = 0;
let refused = 0;

async function hold(): Promise<void> {
  const beginning = beginnings[opened++ % beginnings.length] ?? '';
  try {
    const socket = await Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        data: () => undefined,
        close: (closed) => void held.delete(closed),
        error: (broken) => void held.delete(broken),
      },
    });
    held.add(socket);
    socket.write(beginning);
  } catch {
    refused++;
  }
}

setInterval(() => {
  for (const socket of held) socket.write('a');
  console.log(JSON.stringify({ held: held.size, opened, refused }));
}, DRIP_EVERY_MS);

while (true) {
  const missing = Math.min(sockets - held.size, AT_ONCE);
  await Promise.all(Array.from({ length: missing }, hold));
  await Bun.sleep(20);
}
