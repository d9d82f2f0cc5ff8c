import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { AttemptFailure } from '../../../src/delivery/http/errors.ts';
import { type HttpResponse, ResponseParser } from '../../../src/delivery/http/response-parser.ts';
import { OK } from '../receivers.ts';

type Seen = { response: HttpResponse; isReusable: boolean } | { failure: string };

/** As it comes: each part by itself, and then the end of the connection. */
function read(parts: readonly Buffer[]): Seen {
  const parser = new ResponseParser();
  try {
    for (const part of parts) {
      const response = parser.read(part);
      if (response !== null) return { response, isReusable: parser.isReusable };
    }
    return { response: parser.end(), isReusable: parser.isReusable };
  } catch (error) {
    if (error instanceof AttemptFailure) return { failure: error.error };
    throw error;
  }
}

const whole = (text: string) => read([Buffer.from(text, 'latin1')]);
const byteByByte = (text: string) => read([...Buffer.from(text, 'latin1')].map((byte) => Buffer.from([byte])));
const ok = (body: string, { isReusable = true, status = 200 } = {}): Seen => ({
  response: { status, retryAfter: null, body },
  isReusable,
});
const bad = { failure: 'bad_response' };
const broken = { failure: 'reset' };
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

const RESPONSES: [name: string, text: string, seen: Seen][] = [
  ['with a length', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', ok('ok')],
  ['without a reason', 'HTTP/1.1 204\r\n\r\n', ok('', { status: 204 })],
  ['without a body and of length zero', 'HTTP/1.1 204 No\r\ncontent-length: 0\r\n\r\n', ok('', { status: 204 })],
  ['that ends with the connection', 'HTTP/1.1 200 OK\r\n\r\nok', ok('ok', { isReusable: false })],
  ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok', ok('ok', { isReusable: false })],
  ['that closes', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\nConnection: Close\r\n\r\n', ok('', { isReusable: false })],
  ['in chunks', `${CHUNKED}2\r\nok\r\n3;a=b\r\nay!\r\n0\r\n\r\n`, ok('okay!')],
  ['in chunks with trailers', `${CHUNKED}2\r\nok\r\n0\r\nx: y\r\nz: 1\r\n\r\n`, ok('ok')],
  [
    'after informational ones',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: <a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok',
    ok('ok'),
  ],
  ['that ends within its head', 'HTTP/1.1 200 OK\r\nx: ', broken],
  ['that ends within its body', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok', broken],
  ['that ends within its chunks', `${CHUNKED}2\r\nok\r\n`, broken],
  ['that ends within its trailers', `${CHUNKED}0\r\nx: y\r\n`, broken],
  ['that is nothing', '', broken],
  ['of another protocol', 'SSH-2.0-OpenSSH\r\n', bad],
  ['of HTTP/2', 'HTTP/2 200 OK\r\n\r\n', bad],
  ['of no status', 'HTTP/1.1 099 Less\r\n\r\n', bad],
  ['of too long a status', 'HTTP/1.1 2000 More\r\n\r\n', bad],
  ['that switches protocols', 'HTTP/1.1 101 Switching\r\n\r\n', bad],
  ['with bare line feeds', 'HTTP/1.1 200 OK\ncontent-length: 2\n\nok', bad],
  ['with a bare line feed and then a proper end', 'HTTP/1.1 200 OK\ncontent-length: 2\n\nok\r\n\r\n', bad],
  ['in chunks and with a length', CHUNKED.replace('\r\n\r\n', '\r\ncontent-length: 9\r\n\r\n0\r\n\r\n'), bad],
  ['with one length twice', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok', bad],
  ['with a no-break space before its length', 'HTTP/1.1 200 OK\r\ncontent-length: \xa02\r\n\r\nok', bad],
  ['with a space before a colon', 'HTTP/1.1 200 OK\r\ncontent-length : 2\r\n\r\nok', bad],
  ['with a space in a field name', 'HTTP/1.1 200 OK\r\nx y: z\r\ncontent-length: 2\r\n\r\nok', bad],
  ['with a bare carriage return', 'HTTP/1.1 200 OK\r\nx: a\rb\r\ncontent-length: 2\r\n\r\nok', bad],
  ['with a header that is none', 'HTTP/1.1 200 OK\r\nnothing\r\n\r\n', bad],
  ['with a folded header', 'HTTP/1.1 200 OK\r\nx: a\r\n b\r\n\r\n', bad],
  ['with NUL in its head', 'HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n', bad],
  ['with two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok', bad],
  ['with a list for a length', 'HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\nok', bad],
  ['with a length below zero', 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n', bad],
  ['encoded in an unknown way', 'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n', bad],
  ['encoded twice', CHUNKED.replace('\r\n\r\n', '\r\ntransfer-encoding: gzip\r\n\r\n'), bad],
  ['with a bare line feed after a chunk', `${CHUNKED}2\r\nok\n0\r\n\r\n`, bad],
  ['with a space after a chunk size', `${CHUNKED}2 \r\nok\r\n0\r\n\r\n`, bad],
  ['with a trailer that is none', `${CHUNKED}0\r\nnothing\r\n\r\n`, bad],
  ['with a length for a trailer', `${CHUNKED}0\r\ncontent-length: 2\r\n\r\n`, bad],
  ['after an informational one with a body', `HTTP/1.1 103 Hints\r\ncontent-length: 2\r\n\r\nok${OK}`, bad],
  ['after an informational one that closes', `HTTP/1.1 103 Hints\r\nconnection: close\r\n\r\n${OK}`, bad],
  ['with a chunk of no size', `${CHUNKED}zz\r\n`, bad],
  ['with a chunk of no number', `${CHUNKED}-2\r\nok\r\n`, bad],
  ['with a chunk longer than it says', `${CHUNKED}2\r\noke\r\n`, bad],
];

describe('a response', () => {
  test.each(RESPONSES)('%s is parsed alike in one piece and byte by byte', (_name, text, seen) => {
    expect(whole(text)).toEqual(seen);
    expect(byteByByte(text)).toEqual(seen);
  });

  const announced = ['content-length: 5', 'transfer-encoding: chunked'];
  test.each([204, 304].flatMap((status) => announced.map((field) => [status, field] as const)))(
    'of %d with %s has no body, and its connection is not used again',
    (status, field) => {
      const text = `HTTP/1.1 ${status} Empty\r\n${field}\r\n\r\n`;
      expect(whole(text)).toMatchObject(ok('', { status, isReusable: false }));
      expect(byteByByte(text)).toMatchObject(ok('', { status, isReusable: false }));
    },
  );

  test.each([
    ['connection: close', 'connection: keep-alive'],
    ['connection: keep-alive', 'Connection: x, Close'],
    ['proxy-connection: close', 'connection: keep-alive'],
  ])('with "close" among several fields is the last of its connection (%s, %s)', (...lines) => {
    const text = `HTTP/1.1 200 OK\r\n${lines.join('\r\n')}\r\ncontent-length: 2\r\n\r\nok`;
    expect(whole(text)).toEqual(ok('ok', { isReusable: false }));
  });

  test('of more than 16 KiB is the last of its connection, even if it comes at once', () => {
    const text = (length: number) => `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n${'a'.repeat(length)}`;
    const kept = 'a'.repeat(1_024);
    expect(whole(text(16 * 1_024))).toEqual(ok(kept));
    expect(whole(text(16 * 1_024 + 1))).toEqual(ok(kept, { isReusable: false }));
  });

  test('with something behind it is complete, and its connection is not used again', () => {
    expect(whole('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200')).toEqual(
      ok('ok', { isReusable: false }),
    );
    expect(whole(`${CHUNKED}0\r\n\r\nmore`)).toEqual(ok('', { isReusable: false }));
  });

  test('keeps its retry-after, under any spelling of the name', () => {
    for (const name of ['retry-after', 'Retry-After', 'RETRY-AFTER']) {
      const text = `HTTP/1.1 503 Slow\r\n${name}:  120 \r\ncontent-length: 0\r\n\r\n`;
      expect(whole(text)).toMatchObject({ response: { status: 503, retryAfter: '120' } });
    }
  });

  test.each([
    ['one head', (line: string) => `HTTP/1.1 200 OK\r\n${line.repeat(2_000)}`],
    ['heads that are informational', (line: string) => `HTTP/1.1 103 Hints\r\n${line}\r\n`.repeat(1_000)],
    ['trailers', (line: string) => `${CHUNKED}0\r\n${line.repeat(2_000)}`],
    ['the line before a chunk', (line: string) => `${CHUNKED}2;${line.trim().repeat(2_000)}`],
  ])('without an end to %s is rejected', (_what, write) => {
    expect(whole(write('x: 0123456789\r\n'))).toEqual(bad);
  });

  test('without an end to its body is complete with its first 16 KiB, of which one is kept', () => {
    const parser = new ResponseParser();
    expect(parser.read(Buffer.from('HTTP/1.1 200 OK\r\n\r\n'))).toBeNull();
    for (let part = 0; part < 15; part++) expect(parser.read(Buffer.alloc(1_024, 'a'))).toBeNull();
    expect(parser.read(Buffer.alloc(1_024, 'a'))).toMatchObject({ status: 200, body: 'a'.repeat(1_024) });
    expect(parser.isReusable).toBe(false);
  });
});

test('where the bytes of a response are split makes no difference', () => {
  const body = fc.string({ unit: 'binary', maxLength: 3_000 });
  const sizes = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 20 });
  const way = fc.constantFrom('length', 'chunks', 'end');
  fc.assert(
    fc.property(
      body,
      sizes,
      sizes,
      way,
      fc.integer({ min: 200, max: 599 }),
      (text, chunkSizes, partSizes, how, status) => {
        const bytes = Buffer.from(text);
        const head = `HTTP/1.1 ${status} Some\r\nserver: test\r\n`;
        const message = {
          length: () => [Buffer.from(`${head}content-length: ${bytes.length}\r\n\r\n`), bytes],
          chunks: () => [Buffer.from(`${head}transfer-encoding: chunked\r\n\r\n`), ...inChunks(bytes, chunkSizes)],
          end: () => [Buffer.from(`${head}\r\n`), bytes],
        }[how]();
        const all = Buffer.concat(message);
        const seen = read([all]);
        expect(read(split(all, partSizes))).toEqual(seen);
        const hasBody = status !== 204 && status !== 304;
        const isCut = bytes.length > 1_024;
        const kept = new TextDecoder().decode(bytes.subarray(0, 1_024), { stream: isCut }).replaceAll('\0', '');
        expect(seen).toMatchObject({ response: { status, body: hasBody ? kept : '' } });
      },
    ),
  );
});

function inChunks(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks = split(bytes, sizes).flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, CRLF]);
  return [...chunks, Buffer.from('0\r\n\r\n')];
}

const CRLF = Buffer.from('\r\n');

function split(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0, index = 0; at < bytes.length; index++) {
    const size = sizes[index % sizes.length] ?? 1;
    parts.push(bytes.subarray(at, at + size));
    at += size;
  }
  return parts;
}

test('keeps the headers of a response that is no success, and none of a success', () => {
  const fields = 'Server: gate\r\nSet-Cookie: id=1\r\ncontent-length: 0\r\n\r\n';
  const headers = 'server: gate\nset-cookie: ***\ncontent-length: 0';
  for (const status of [301, 404, 500]) {
    const response = { status, retryAfter: null, body: '', headers };
    expect(whole(`HTTP/1.1 ${status} No\r\n${fields}`)).toMatchObject({ response });
  }
  for (const status of [200, 202, 204]) {
    expect(JSON.stringify(whole(`HTTP/1.1 ${status} OK\r\n${fields}`))).not.toContain('gate');
  }
});
