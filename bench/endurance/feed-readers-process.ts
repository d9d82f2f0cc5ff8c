import type { Socket } from 'bun';

/**
 * Holds streams of server-sent events open and counts what comes: `bun feed-readers-process.ts '{"url":…,"requests":[…]}'`, a
 * connection for each request. Prints its counts ten times a second.
 */

type Input = { url: string; requests: string[] };
type Reader = { rest: string };

const { url, requests } = JSON.parse(await Bun.stdin.text()) as Input;
const { hostname, port } = new URL(url);
const AT_ONCE = 100;
const EVENT = 'event: delivery';

let held = 0;
let refused = 0;
let ended = 0;
let events = 0;

function count(socket: Socket<Reader>, chunk: Buffer): void {
  const text = socket.data.rest + chunk.toString('latin1');
  if (socket.data.rest === '' && !text.startsWith('HTTP/1.1 200')) {
    if (text.startsWith('HTTP/1.1')) refused++;
  }
  events += text.split(EVENT).length - 1;
  // The end of the response; the connection itself would stay open.
  if (text.endsWith('\r\n0\r\n\r\n')) socket.end();
  // A name that the end of the chunk has cut.
  socket.data.rest = text.slice(-EVENT.length + 1);
}

async function open(request: string): Promise<void> {
  const socket = await Bun.connect<Reader>({
    hostname,
    port: Number(port),
    data: { rest: '' },
    socket: {
      data: count,
      close: () => {
        held--;
        ended++;
      },
    },
  });
  held++;
  socket.write(request);
}

setInterval(() => console.log(JSON.stringify({ held, refused, ended, events })), 100);

for (let at = 0; at < requests.length; at += AT_ONCE) {
  await Promise.all(requests.slice(at, at + AT_ONCE).map(open));
}
