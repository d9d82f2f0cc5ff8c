import { describe, expect, test } from 'bun:test';
import { summaryOf } from '../../../src/domain/chain/payload-summary.ts';
import { listedTokens } from '../../../src/domain/chain/tokens.ts';

const tokenOf = (payload: object) => summaryOf(JSON.stringify({ amount: '12.5', ...payload }), 1)?.token;

describe('the token of a summary', () => {
  test('is the currency, the symbol of a listed token, or the address of another one', () => {
    const [listed] = listedTokens(1);
    expect(tokenOf({ currency: 'USD', symbol: 'EUR' })).toBe('USD');
    expect(tokenOf({ token: listed?.address ?? '' })).toBe(listed?.symbol);
    expect(tokenOf({ token: `0x${'1'.repeat(40)}` })).toBe(`0x${'1'.repeat(40)}`);
    const usdcOnSolana = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
    expect(summaryOf(JSON.stringify({ amount: '1', token: usdcOnSolana }), 900)?.token).toBe('USDC');
  });

  test('is the symbol or asset of a sender who names no token', () => {
    expect(tokenOf({ symbol: 'USDC' })).toBe('USDC');
    expect(tokenOf({ asset: 'USDC' })).toBe('USDC');
    expect(tokenOf({})).toBeNull();
  });

  test('is never the symbol that a token on a network has given itself', () => {
    expect(tokenOf({ token: `0x${'1'.repeat(40)}`, symbol: 'USDC' })).toBe(`0x${'1'.repeat(40)}`);
    expect(tokenOf({ paymentId: `pay_${'a'.repeat(26)}`, symbol: 'USDC' })).toBeNull();
  });
});
