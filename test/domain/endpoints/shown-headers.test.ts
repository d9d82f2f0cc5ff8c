import { expect, test } from 'bun:test';
import { headersFrom, MAX_RESPONSE_HEADERS_BYTES, storedHeaders } from '../../../src/domain/endpoints/shown-headers.ts';

test('headers of a response are read back as they came, with names in lower case', () => {
  const stored = storedHeaders(['Server: gate', 'X-Empty:', 'Link:  <a>; rel="b: c" ', 'x-a: 1', 'x-a: 2']);
  expect(headersFrom(stored ?? '')).toEqual([
    { name: 'server', value: 'gate' },
    { name: 'x-empty', value: '' },
    { name: 'link', value: '<a>; rel="b: c"' },
    { name: 'x-a', value: '1' },
    { name: 'x-a', value: '2' },
  ]);
  expect(storedHeaders([])).toBeNull();
});

test.each([
  'Set-Cookie',
  'Authorization',
  'WWW-Authenticate',
  'X-Api-Key',
  'x-auth-token',
  'X-Amz-Security-Token',
  'x-session',
])('the value of %s is masked', (name) => {
  expect(storedHeaders([`${name}: very secret`])).toBe(`${name.toLowerCase()}: ***`);
});

test('no more than a KiB of headers is kept, and none is cut', () => {
  const lines = Array.from({ length: 100 }, (_, index) => `x-${index}: ${'é'.repeat(50)}`);
  const stored = storedHeaders(lines) ?? '';
  expect(Buffer.byteLength(stored)).toBeLessThanOrEqual(MAX_RESPONSE_HEADERS_BYTES);
  expect(Buffer.byteLength(stored)).toBeGreaterThan(MAX_RESPONSE_HEADERS_BYTES - 120);
  expect(headersFrom(stored).every(({ value }) => value === 'é'.repeat(50))).toBe(true);
  expect(storedHeaders([`x-long: ${'a'.repeat(2_000)}`])).toBeNull();
});
