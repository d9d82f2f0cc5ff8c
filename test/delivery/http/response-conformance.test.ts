import { expect, test } from 'bun:test';
import { AttemptFailure } from '../../../src/delivery/http/errors.ts';
import { StoredBody } from '../../../src/delivery/http/response-body.ts';
import { ResponseParser } from '../../../src/delivery/http/response-parser.ts';
import { suiteRuns } from '../../support/suite.ts';
import { type LlhttpReading, readWithLlhttp } from './llhttp.ts';
import { ResponseGenerator } from './response-generator.ts';

/** Each run has 5,000 generated responses, each compared with llhttp and with itself in other parts. */
const SEEDS = Array.from({ length: suiteRuns(5, 12) }, (_, index) => index + 1);
const RESPONSES_PER_SEED = 5_000;
/** Heads that come byte by byte are copied for each byte, so only short ones are read so, and one in four. */
const BYTE_BY_BYTE_EVERY = 4;
const BYTE_BY_BYTE_MAX_LENGTH = 2_000;

type Reading =
  | { readonly status: number; readonly body: string; readonly isReusable: boolean }
  | { readonly failure: string; readonly detail: string };

/** As a connection reads: the parts as they come, and then the end. A part behind the response closes the connection. */
function read(parts: readonly Buffer[]): Reading {
  const parser = new ResponseParser();
  try {
    for (const [index, part] of parts.entries()) {
      const response = parser.read(part);
      if (response === null) continue;
      const isReusable = parser.isReusable && index === parts.length - 1;
      return { status: response.status, body: response.body, isReusable };
    }
    const { status, body } = parser.end();
    return { status, body, isReusable: false };
  } catch (error) {
    if (error instanceof AttemptFailure) return { failure: error.error, detail: error.detail ?? '' };
    throw error;
  }
}

type Difference = { readonly reason: string; readonly detail: string; readonly shows: RegExp };

const REJECTED_HERE_ONLY: readonly Difference[] = [
  {
    reason: 'Paybell sends HTTP/1.1, so no receiver answers in another version or protocol',
    detail: 'not HTTP/1',
    shows: /HTTP\/(0\.9|2\.0) |(ICE|RTSP)\/1/,
  },
  {
    reason: 'an empty line before a response is a byte behind the response before it',
    detail: 'not HTTP/1',
    shows: /(^|\r\n\r\n)[\r\n]+HTTP\//,
  },
  { reason: 'a status below 100 is none', detail: 'malformed head', shows: /^HTTP\/1\.[01] 0\d\d/m },
  {
    reason: 'a control character in the reason is as wrong as in a field',
    detail: 'malformed head',
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are the ones.
    shows: /HTTP\/1\.[01] \d{3} [^\r\n]*[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/,
  },
  { reason: 'an upgrade was not requested', detail: 'unrequested upgrade', shows: /HTTP\/1\.[01] 101/ },
  {
    reason: 'an informational response has no body and does not end the connection',
    detail: 'malformed informational response',
    shows: /HTTP\/1\.0 1\d\d|HTTP\/1\.1 1\d\d(.|\r\n)*(close|content-length|transfer-encoding)/i,
  },
  {
    reason: 'no transfer coding but chunked is understood, and only alone',
    detail: 'unknown transfer encoding',
    shows: /^transfer-encoding:/im,
  },
  {
    reason: 'llhttp ignores an empty Transfer-Encoding beside a Content-Length',
    detail: 'length and transfer encoding',
    shows: /^transfer-encoding:[\t ]*\r$/im,
  },
  { reason: 'a length has at most 15 digits', detail: 'malformed length', shows: /^content-length:[\t ]*\d{16}/im },
  {
    reason: 'a chunk extension has a name, and a value behind its equals sign',
    detail: 'malformed chunk',
    shows: /;[=;]|=[;\r]/,
  },
  {
    reason: 'a trailer cannot say how the response ends',
    detail: 'malformed trailer',
    shows: /^(content-length|transfer-encoding|connection):/im,
  },
  { reason: 'a head has at most 16 KiB', detail: 'head too large', shows: /^x-long: a{15000}/m },
];

const CLOSED_HERE_ONLY: readonly Omit<Difference, 'detail'>[] = [
  {
    reason: 'a 204 or 304 that announces a body may send it',
    shows: /HTTP\/1\.1 [23]04(.|\r\n)*(content-length:\s*0*[1-9]|transfer-encoding)/i,
  },
  { reason: 'HTTP/1.0 is not trusted to keep a connection', shows: /HTTP\/1\.0/ },
  { reason: 'the word "close" closes, also as a part of another option', shows: /^(proxy-)?connection:.*\bclose\b/im },
  { reason: 'of a body, 16 KiB are read', shows: /long[\s\S]{16000}/ },
];

const ACCEPTED_HERE_ONLY: readonly Omit<Difference, 'detail'>[] = [
  { reason: 'of a body, 16 KiB are read, so what follows is not seen', shows: /long[\s\S]{16000}/ },
];

const seen = new Map<string, number>();

/** Null if both read the same, the reason if it is listed above, or else what differs. */
function compare(text: string, ours: Reading, theirs: LlhttpReading): string | null {
  const find = (list: readonly Omit<Difference, 'detail'>[]) => list.find(({ shows }) => shows.test(text))?.reason;
  if ('failure' in ours) {
    if ('failure' in theirs) return null;
    return find(REJECTED_HERE_ONLY.filter(({ detail }) => detail === ours.detail)) ?? `rejected: ${ours.detail}`;
  }
  if ('failure' in theirs) return find(ACCEPTED_HERE_ONLY) ?? `accepted, and llhttp says ${theirs.failure}`;
  if (ours.status !== theirs.status) return `status ${ours.status}, and llhttp says ${theirs.status}`;
  if (ours.body !== storedOf(theirs.body)) return 'another body';
  if (ours.isReusable === theirs.isReusable) return null;
  return ours.isReusable
    ? 'reused, and llhttp would close'
    : (find(CLOSED_HERE_ONLY) ?? 'closed, and llhttp would reuse');
}

function storedOf(body: Buffer): string {
  const stored = new StoredBody();
  stored.add(body);
  return stored.text();
}

const LISTED = new Set([...REJECTED_HERE_ONLY, ...CLOSED_HERE_ONLY, ...ACCEPTED_HERE_ONLY].map(({ reason }) => reason));

test.each(SEEDS)('responses generated from seed %d are read as llhttp reads them, however they are split', (seed) => {
  const generator = new ResponseGenerator(seed);
  const unlisted: { difference: string; text: string }[] = [];
  for (let index = 0; index < RESPONSES_PER_SEED; index++) {
    const text = generator.response();
    const bytes = Buffer.from(text, 'latin1');
    const ours = read([bytes]);
    const splits = [generator.parts(bytes)];
    const isShort = bytes.length <= BYTE_BY_BYTE_MAX_LENGTH;
    if (isShort && index % BYTE_BY_BYTE_EVERY === 0) splits.push([...bytes].map((byte) => Buffer.of(byte)));
    for (const parts of splits) {
      if (!Bun.deepEquals(read(parts), ours)) unlisted.push({ difference: 'split', text });
    }
    const difference = compare(text, ours, readWithLlhttp(bytes));
    if (difference === null) continue;
    seen.set(difference, (seen.get(difference) ?? 0) + 1);
    if (!LISTED.has(difference)) unlisted.push({ difference, text });
  }
  expect(unlisted.slice(0, 5)).toEqual([]);
});

test('each listed difference occurred, so that the list is no longer than it has to be', () => {
  expect([...LISTED].filter((reason) => !seen.has(reason))).toEqual([]);
});
