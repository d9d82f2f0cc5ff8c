import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { secretRuleBroken } from '../../src/domain/secret-forms.ts';
import { parseSecret, textOf, toStored, toWhsec } from '../../src/domain/signing.ts';

const BODY = '{"amount":"25.00"}';
const hmac = (key: string | Uint8Array) => createHmac('sha256', key).update(BODY).digest('hex');

describe('a secret of another service', () => {
  test.each([16, 23, 24, 63, 64, 65, 200, 256])('of %d characters signs as its text does, as whsec_ too', (length) => {
    const text = 'k'.repeat(length);
    expect(secretRuleBroken(text, 'text')).toBeNull();
    const stored = toStored(text, 'text');
    expect(hmac(parseSecret(toWhsec(stored)))).toBe(hmac(text));
    expect(textOf(stored)).toBe(text);
  });

  test('in hex signs with the bytes, and keeps its text', () => {
    const hex = Buffer.alloc(24, 0xab).toString('hex').toUpperCase();
    expect(hmac(parseSecret(toWhsec(toStored(hex, 'hex'))))).toBe(hmac(Buffer.alloc(24, 0xab)));
    expect(textOf(toStored(hex, 'hex'))).toBe(hex);
  });

  test('that reads like a stored one is kept apart by its format', () => {
    const text = 'hex:0123456789abcdef';
    expect(textOf(toStored(text, 'text'))).toBe(text);
    expect(hmac(parseSecret(toWhsec(toStored(text, 'text'))))).toBe(hmac(text));
  });

  test('with more than ASCII counts in bytes', () => {
    expect(secretRuleBroken('ü'.repeat(8), 'text')).toBeNull();
    expect(secretRuleBroken('ü'.repeat(129), 'text')).toContain('256 bytes');
    expect(secretRuleBroken(`${'x'.repeat(20)}\ud800`, 'text')).not.toBeNull();
  });
});
