import { describe, expect, test } from 'bun:test';
import { hashApiKey, PERMISSIONS } from '../../../src/domain/keys/api-keys.ts';
import { OPERATOR_SCOPES, parseOperatorKeys, unnamedOperatorKey } from '../../../src/domain/keys/operator-keys.ts';

const HASH = hashApiKey('a key');
const OTHER = hashApiKey('another key');

function read(text: string) {
  const keys = parseOperatorKeys(text);
  if (typeof keys === 'string') throw new Error(keys);
  return keys.map(({ name, hash, scopes, expiresAtMs }) => ({ name, hash, scopes: [...scopes], expiresAtMs }));
}

describe("operators' keys", () => {
  test('have a name and a hash, every scope where none is named, and expire where a date is', () => {
    const all = [...OPERATOR_SCOPES];
    const until = Date.UTC(2027, 0, 31);
    expect(read(`ci:${HASH}`)).toEqual([{ name: 'ci', hash: HASH, scopes: all, expiresAtMs: null }]);
    expect(read(`ci:${HASH}:all:2027-01-31`)).toEqual([{ name: 'ci', hash: HASH, scopes: all, expiresAtMs: until }]);
    expect(read(`a.b:${HASH}:events:write, c:${OTHER}:entities:read+keys:read:2027-01-31`)).toEqual([
      { name: 'a.b', hash: HASH, scopes: ['events:write'], expiresAtMs: null },
      { name: 'c', hash: OTHER, scopes: ['entities:read', 'keys:read'], expiresAtMs: until },
    ]);
  });

  test('give each entity the permissions among their scopes', () => {
    const keys = parseOperatorKeys(`ci:${HASH}:entities:write+events:write`);
    expect(typeof keys === 'string' ? keys : [...(keys[0]?.permissions ?? [])]).toEqual(['events:write']);
    expect([...unnamedOperatorKey('x').permissions]).toEqual([...PERMISSIONS]);
  });

  test.each([
    ['', 'a name'],
    [':', 'a name'],
    [`ci ${HASH}`, 'a name'],
    ['ci', 'a name'],
    ['ci:hunter2-hunter2-hunter2-hunter2', 'SHA-256'],
    [`ci:${HASH.toUpperCase()}`, 'SHA-256'],
    [`ci:${HASH}:`, 'scopes'],
    [`ci:${HASH}:events`, 'scopes'],
    [`ci:${HASH}:events:write,`, 'a name of 1 to 64 letters, digits, ".", "_" or "-" in entry 2'],
    [`ci:${HASH}:2027-01-31`, 'scopes'],
    [`ci:${HASH}:all:2027-13-31`, 'a date'],
    [`ci:${HASH}:all:31.1.2027`, 'scopes'],
    [`ci:${HASH},ci:${OTHER}`, 'ci appears twice'],
    [`ci:${HASH},cd:${HASH}`, 'cd appears twice'],
  ])('as %p are refused with what is missing', (text, missing) => {
    const answer = String(parseOperatorKeys(text));
    expect(answer).toStartWith('must have ');
    expect(answer).toContain(missing);
    expect(answer).not.toContain('hunter2');
  });

  test('are at most a hundred', () => {
    const entries = Array.from({ length: 101 }, (_, index) => `k${index}:${hashApiKey(`key ${index}`)}`);
    expect(read(entries.slice(1).join(','))).toHaveLength(100);
    expect(parseOperatorKeys(entries.join(','))).toBe('must have at most 100 entries');
  });
});
