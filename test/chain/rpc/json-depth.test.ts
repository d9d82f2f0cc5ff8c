import { describe, expect, test } from 'bun:test';
import { JsonDepth } from '../../../src/chain/rpc/json-depth.ts';

const encode = (text: string) => new TextEncoder().encode(text);
const nested = (depth: number, inside = '') => `${'[{"a":'.repeat(depth / 2)}${inside}`;

/** Whether a document that arrives in chunks of this size is nested too deeply. */
function isTooDeep(text: string, chunkBytes: number): boolean {
  const depth = new JsonDepth();
  const bytes = encode(text);
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    if (depth.isTooDeepAfter(bytes.subarray(at, at + chunkBytes))) return true;
  }
  return false;
}

describe.each([1, 2, 3, 7, 1_000])('the depth of a document in chunks of %d bytes', (chunkBytes) => {
  test('may be 32', () => {
    expect(isTooDeep(nested(32), chunkBytes)).toBe(false);
    expect(isTooDeep(nested(32, '[]'), chunkBytes)).toBe(true);
  });

  test('falls with closing brackets', () => {
    expect(isTooDeep(`[${'[[]],{"a":[]},'.repeat(100)}]`, chunkBytes)).toBe(false);
  });

  test.each([
    ['brackets', '['.repeat(100)],
    ['escaped quotes', `\\"${'['.repeat(100)}`],
    ['backslashes before an escaped quote', `\\\\\\"${'['.repeat(100)}`],
    ['letters of several bytes', `ü€${'['.repeat(100)}`],
  ])('does not rise in a text with %s', (_, text) => {
    expect(isTooDeep(`{"a":"${text}","b":[]}`, chunkBytes)).toBe(false);
  });

  test('rises after a text that ends with escaped backslashes', () => {
    expect(isTooDeep(`["\\\\",${'['.repeat(32)}`, chunkBytes)).toBe(true);
  });
});
