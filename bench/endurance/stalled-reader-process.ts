import { connect } from 'node:net';

/**
 * Opens a stream of server-sent events and takes nothing from it until a line comes on standard input; then it reads on:
 * `bun stalled-reader-process.ts '{"url":…,"request":…,"events":…}'`. Prints `opened`, and at the end how many events came.
 */

type Input = { url: string; request: string; events: number };

const { url, request, events } = JSON.parse(process.argv[2] ?? '') as Input;
const { hostname, port } = new URL(url);
const EVENT = 'event: delivery';

const socket = connect({ host: hostname, port: Number(port) });
socket.pause();
socket.on('connect', () => {
  socket.write(request);
  console.log('opened');
});

let rest = '';
let count = 0;
socket.on('data', (chunk) => {
  const text = rest + chunk.toString('latin1');
  count += text.split(EVENT).length - 1;
  // A name that the end of the chunk has cut.
  rest = text.slice(-EVENT.length + 1);
  if (count >= events) socket.end();
});
socket.on('close', () => {
  console.log(JSON.stringify({ events: count }));
  process.exit(0);
});
// Listening for data has resumed the socket.
socket.pause();
process.stdin.once('data', () => socket.resume());
