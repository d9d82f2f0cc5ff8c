import type { Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';

/** What a receiver does with a connection on which a request has arrived. */
export type Behaviour = (socket: Socket) => void;

const KIB_64 = 64 * 1024;
const TEN_GB = 10 * 2 ** 30;
const BOMB_BYTES = 20_000_000;

/** Says this and then nothing more. */
export function says(head: string, body: string | Buffer = ''): Behaviour {
  return (socket) => {
    socket.write(head);
    socket.write(body);
  };
}

/** A well-formed response. */
export function responds(status: string, headers: readonly string[] = [], body: string | Buffer = ''): Behaviour {
  const lines = [`HTTP/1.1 ${status}`, ...headers, `content-length: ${Buffer.byteLength(body)}`, '', ''];
  return says(lines.join('\r\n'), body);
}

/** One byte a second, for ever. */
export function drips(head: string): Behaviour {
  return (socket) => {
    socket.write(head);
    const timer = setInterval(() => socket.write('a'), 1_000);
    socket.on('close', () => clearInterval(timer));
  };
}

/** The same again and again, as fast as it is taken, for ever. */
export function pours(head: string, again: string): Behaviour {
  const chunk = Buffer.from(again.repeat(Math.ceil(KIB_64 / again.length)));
  return (socket) => {
    const pour = () => {
      if (socket.destroyed) return;
      if (socket.write(chunk)) setImmediate(pour);
      else socket.once('drain', pour);
    };
    socket.write(head);
    pour();
  };
}

/** Says this, lets it arrive, and breaks the connection. */
export function resetsAfter(head: string): Behaviour {
  return (socket) => {
    socket.write(head);
    setTimeout(() => socket.resetAndDestroy(), 50);
  };
}

export function bomb(encoding: 'gzip' | 'deflate' | 'br' | 'zstd'): Behaviour {
  const letters = Buffer.alloc(BOMB_BYTES, 'a');
  const compress = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync }[encoding];
  return responds('200 OK', [`content-encoding: ${encoding}`], compress(letters));
}

const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

/** Those that never end by themselves. */
export const ENDLESS = {
  'headers without end': pours('HTTP/1.1 200 OK\r\n', 'x-more: and more\r\n'),
  'a header line without end': pours('HTTP/1.1 200 OK\r\nx-long: ', 'a'),
  'a status line without end': pours('HTTP/1.1 200 ', 'O'),
  'a body of 10 GB': pours(`HTTP/1.1 200 OK\r\ncontent-length: ${TEN_GB}\r\n\r\n`, 'a'),
  'a body without end or length': pours('HTTP/1.1 200 OK\r\n\r\n', 'a'),
  'chunks without end': pours(CHUNKED, '4\r\nabcd\r\n'),
  'a chunk extension without end': pours(`${CHUNKED}4;`, 'a'),
  'trailers without end': pours(`${CHUNKED}4\r\nabcd\r\n0\r\n`, 'x-more: and more\r\n'),
  'a flood of 100 Continue': pours('', 'HTTP/1.1 100 Continue\r\n\r\n'),
  'a flood of 103 Early Hints': pours('', `HTTP/1.1 103 Early Hints\r\nlink: </${'a'.repeat(1_000)}>\r\n\r\n`),
} as const satisfies Record<string, Behaviour>;
