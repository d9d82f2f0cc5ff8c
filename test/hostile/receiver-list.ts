import { expect } from 'bun:test';
import type { AttemptError, DeliveryStatus } from '../../src/domain/attempt.ts';
import { type Certificate, makeAuthority, makeSelfSigned, pastValidity } from '../delivery/http/certificates.ts';
import { type Behaviour, bomb, drips, ENDLESS, pours, resetsAfter, responds, says } from './receivers.ts';

/** A receiver, what is to be recorded of the attempt at it, and what becomes of the delivery. */
export type Hell = {
  does: Behaviour;
  /** Speaks TLS with this, under the name `receiver.hell.example`. */
  certificate?: Certificate;
  recorded: { statusCode: number | null; error: AttemptError | null; response: unknown };
  becomes: DeliveryStatus;
};

export const HELL_NAME = 'receiver.hell.example';
export const AUTHORITY = makeAuthority('Paybell Test');

const KEPT = 1_024;
const KIB_16 = 16 * 1_024;

function fails(error: AttemptError, does: Behaviour, certificate?: Certificate): Hell {
  const recorded = { statusCode: null, error, response: null };
  return { does, recorded, becomes: 'retrying', ...(certificate && { certificate }) };
}

function isTaken(response: unknown, does: Behaviour, certificate?: Certificate): Hell {
  const recorded = { statusCode: 200, error: null, response };
  return { does, recorded, becomes: 'delivered', ...(certificate && { certificate }) };
}

function isTurnedDown(statusCode: number, does: Behaviour, response: unknown = ''): Hell {
  return { does, recorded: { statusCode, error: null, response }, becomes: statusCode === 410 ? 'held' : 'retrying' };
}

const redirect = (code: number, to: string) => isTurnedDown(code, responds(`${code} Elsewhere`, [`location: ${to}`]));
const withLength = (length: string) => says(`HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\nok`);
const OK_REPLY = responds('200 OK', [], 'ok');
/** As it came: inflated it would be nothing but one letter. */
const NOT_INFLATED = expect.not.stringMatching(/a{500}/);

export const RECEIVERS_FROM_HELL: Readonly<Record<string, Hell>> = {
  // Slowness
  'says nothing': fails('timeout', () => undefined),
  'stops in the middle of the headers': fails('timeout', says('HTTP/1.1 200 OK\r\nx: ')),
  'stops after the headers': fails('timeout', says('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n')),
  'sends a byte a second of its status line': fails('timeout', drips('HTTP/1.1 200 ')),
  'sends a byte a second of its headers': fails('timeout', drips('HTTP/1.1 200 OK\r\nx: ')),
  'sends a byte a second of its body': fails('timeout', drips('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n')),
  'sends a byte a second without saying how many': fails('timeout', drips('HTTP/1.1 200 OK\r\n\r\n')),
  'never ends the handshake': fails('timeout', () => undefined, AUTHORITY.issue([HELL_NAME])),

  // Size
  'sends headers without end': fails('bad_response', ENDLESS['headers without end']),
  'sends a header line without end': fails('bad_response', ENDLESS['a header line without end']),
  'sends a status line without end': fails('bad_response', ENDLESS['a status line without end']),
  'sends a body of 10 GB': isTaken('a'.repeat(KEPT), ENDLESS['a body of 10 GB']),
  'sends a body without end or length': isTaken('a'.repeat(KEPT), ENDLESS['a body without end or length']),
  'sends chunks without end': isTaken('abcd'.repeat(KEPT / 4), ENDLESS['chunks without end']),
  'sends a chunk extension without end': fails('bad_response', ENDLESS['a chunk extension without end']),
  'sends trailers without end': fails('bad_response', ENDLESS['trailers without end']),
  'sends a 500 of 10 GB': isTurnedDown(
    500,
    pours('HTTP/1.1 500 No\r\ncontent-length: 10737418240\r\n\r\n', 'b'),
    'b'.repeat(KEPT),
  ),
  'sends a gzip bomb': isTaken(NOT_INFLATED, bomb('gzip')),
  'sends a deflate bomb': isTaken(NOT_INFLATED, bomb('deflate')),
  'sends a brotli bomb': isTaken(NOT_INFLATED, bomb('br')),
  'sends a zstd bomb': isTaken(NOT_INFLATED, bomb('zstd')),
  'sends as much as is read and not a byte more': isTaken('c'.repeat(KEPT), responds('200 OK', [], 'c'.repeat(KIB_16))),

  // Breaking off
  'closes instead of answering': fails('reset', (socket) => socket.destroy()),
  'resets instead of answering': fails('reset', (socket) => socket.resetAndDestroy()),
  'closes in the middle of the headers': fails('reset', (socket) => socket.end('HTTP/1.1 200 OK\r\nx: ')),
  'resets in the middle of the headers': fails('reset', resetsAfter('HTTP/1.1 200 OK\r\nx: ')),
  'truncates a 200': fails('reset', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok')),
  'resets in the middle of a 200': fails('reset', resetsAfter('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok')),
  'leaves its chunks unfinished': fails('reset', (socket) =>
    socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n'),
  ),

  // Certificates
  'has a good certificate': isTaken('ok', OK_REPLY, AUTHORITY.issue([HELL_NAME])),
  'has an expired certificate': fails('tls', OK_REPLY, AUTHORITY.issue([HELL_NAME], pastValidity())),
  'has a certificate for another name': fails('tls', OK_REPLY, AUTHORITY.issue(['other.hell.example'])),
  'has a certificate for a part of its name': fails('tls', OK_REPLY, AUTHORITY.issue(['hell.example', '*.example'])),
  'has a certificate that it signed itself': fails('tls', OK_REPLY, makeSelfSigned(HELL_NAME)),
  'has a certificate of an unknown authority': fails('tls', OK_REPLY, makeAuthority('Unknown').issue([HELL_NAME])),

  // Retry-After
  'is gone': isTurnedDown(410, responds('410 Gone', [], 'moved away'), 'moved away'),
  'wants patience for a second': isTurnedDown(429, responds('429 Slow', ['retry-after: 1'])),
  'wants patience for 31,000 years': isTurnedDown(429, responds('429 Slow', ['retry-after: 1000000000000'])),
  'wants patience for longer than any number': isTurnedDown(
    503,
    responds('503 Slow', [`retry-after: ${'9'.repeat(400)}`]),
  ),
  'wants patience in bytes that are no text': isTurnedDown(
    503,
    says('', Buffer.from('HTTP/1.1 503 Slow\r\nretry-after: \xff\xfe\r\ncontent-length: 0\r\n\r\n', 'latin1')),
  ),

  // Not quite HTTP
  'floods with 100 Continue': fails('bad_response', ENDLESS['a flood of 100 Continue']),
  'floods with 103 Early Hints': fails('bad_response', ENDLESS['a flood of 103 Early Hints']),
  'sends some 1xx and then its response': isTaken(
    'ok',
    says(
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok',
    ),
  ),
  'switches protocols unasked': fails('bad_response', says('HTTP/1.1 101 Switching\r\n\r\n')),
  'responds with status 000': fails('bad_response', responds('000 Nothing')),
  'responds with status 099': fails('bad_response', responds('099 Less')),
  'responds with status 999': isTurnedDown(999, responds('999 More')),
  'responds with a status of four digits': fails('bad_response', responds('2000 Much more')),
  'puts NUL and broken UTF-8 into its body': isTaken(
    'a\ufffdb\ufffd',
    responds('200 OK', [], Buffer.from([0x61, 0x00, 0xff, 0x62, 0xc3])),
  ),
  'puts nothing but NUL into its body': isTurnedDown(500, responds('500 No', [], Buffer.alloc(KIB_16))),
  'puts NUL into a header': fails('bad_response', responds('200 OK', ['x: a\0b'])),
  'puts NUL into its status line': fails('bad_response', responds('200 \0')),
  'sends broken chunks': fails(
    'bad_response',
    says('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nok\r\n'),
  ),
  'gives two lengths': fails('bad_response', withLength('2\r\ncontent-length: 5')),
  'gives a length below zero': fails('bad_response', withLength('-2')),
  'gives a length beyond all numbers': fails('bad_response', withLength('9'.repeat(40))),
  'encodes its transfer in an unknown way': fails(
    'bad_response',
    says('HTTP/1.1 200 OK\r\ntransfer-encoding: foo\r\n\r\nok'),
  ),
  'does not speak HTTP': fails('bad_response', says('SSH-2.0-OpenSSH\r\n\r\n\r\n')),
  'speaks HTTP/0.9': fails('bad_response', (socket) => socket.end('ok')),
  'responds in HTTP/2': fails('bad_response', says('', Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]))),
};

/** Those that point to a private address. */
export function redirectsTo(canary: string): Record<string, Hell> {
  const codes = [300, 301, 302, 303, 304, 305, 306, 307, 308];
  return {
    ...Object.fromEntries(codes.map((code) => [`redirects to a private address by ${code}`, redirect(code, canary)])),
    'succeeds and names a private address': isTaken(
      '',
      responds('200 OK', [`location: ${canary}`, `refresh: 0; url=${canary}`]),
    ),
  };
}
