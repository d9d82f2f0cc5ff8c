import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import {
  hashApiKey,
  isWellFormedApiKey,
  lastFour,
  makeApiKey,
  PERMISSIONS,
} from '../../../src/domain/keys/api-keys.ts';

const random = (count: number) => crypto.getRandomValues(new Uint8Array(count));
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

test('a new key is pbk_ with 30 random and 6 checksum characters, and well formed', () => {
  for (let i = 0; i < 200; i++) {
    const key = makeApiKey(random);
    expect(key).toMatch(/^pbk_[0-9A-Za-z]{36}$/);
    expect(isWellFormedApiKey(key)).toBe(true);
  }
});

test('every letter of the alphabet comes from equally many bytes, and no other byte is used', () => {
  const made = Array.from({ length: 256 }, (_, byte) => {
    // A refused byte leaves the letter to the next call, which gives the byte of letter 0.
    let calls = 0;
    return makeApiKey((count) => new Uint8Array(count).fill(calls++ === 0 ? byte : 0)).charAt(4);
  });
  const used = Map.groupBy(made.slice(0, 248), (letter) => letter);
  expect([...used.keys()].sort()).toEqual([...ALPHABET].sort());
  for (const letters of used.values()) expect(letters).toHaveLength(4);
  expect(new Set(made.slice(248))).toEqual(new Set(['0']));
});

test('any single wrong, missing or added character makes a key malformed', () => {
  const key = makeApiKey(random);
  fc.assert(
    fc.property(fc.integer({ min: 4, max: key.length - 1 }), fc.constantFrom(...ALPHABET), (position, letter) => {
      fc.pre(key.charAt(position) !== letter);
      expect(isWellFormedApiKey(key.slice(0, position) + letter + key.slice(position + 1))).toBe(false);
      expect(isWellFormedApiKey(key.slice(0, position) + key.slice(position + 1))).toBe(false);
      expect(isWellFormedApiKey(key.slice(0, position) + letter + key.slice(position))).toBe(false);
    }),
  );
});

test('what is not a key at all is malformed and not an error', () => {
  const key = makeApiKey(random);
  const others = [
    '',
    'pbk_',
    `${key}\n`,
    ` ${key}`,
    `${key}, ${key}`,
    key.replace('pbk_', 'pbk-'),
    'x'.repeat(100_000),
  ];
  for (const other of others) expect(isWellFormedApiKey(other)).toBe(false);
});

test('the hash is SHA-256 in hex of the whole key', () => {
  expect(hashApiKey('pbk_x')).toBe(createHash('sha256').update('pbk_x').digest('hex'));
  expect(hashApiKey('pbk_x')).not.toBe(hashApiKey('pbk_y'));
});

test('a list shows four characters of a key', () => {
  expect(lastFour('pbk_abcdefgh')).toBe('efgh');
});

test('the permissions are those that the interface names', () => {
  expect([...PERMISSIONS]).toEqual([
    'webhooks:read',
    'webhooks:write',
    'secrets:read',
    'secrets:write',
    'events:read',
    'events:write',
    'deliveries:read',
    'deliveries:write',
    'payments:read',
    'invoices:write',
    'audit:read',
    'keys:read',
    'keys:write',
  ]);
});
