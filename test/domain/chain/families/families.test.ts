import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  caip2,
  familyOf,
  rulesOf,
  storedAddress,
  storedTransactionId,
} from '../../../../src/domain/chain/families/families.ts';
import { hexOfTronAddress, showTronAddress } from '../../../../src/domain/chain/families/tron.ts';
import { listedSymbol, listedTokens } from '../../../../src/domain/chain/tokens.ts';
import { explorerUrl, networkName } from '../../../../src/domain/networks.ts';

const TRON = 728_126_428;
const HASH = '5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060';
const SIGNATURE = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW';
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';

describe('an address of Tron', () => {
  test.each([
    ['TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', '0xa614f803b6fd780986a42c78ec9c7f77e6ded13c'],
    ['T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb', '0x0000000000000000000000000000000000000000'],
    ['TNPeeaaFB7K9cmo4uQpcU32zGK8G1NYqeL', '0x8840e6c55b9ada326d211d818c34a994aeced808'],
    ['TJRabPrwbZy45sbavfcjinPJC18kjpRTv8', '0x5cbdd86a2fa8dc4bddd8a8f69dba48572eec07fb'],
  ])('%s is %s in logs', (shown, stored) => {
    const { parse, show } = rulesOf(TRON).addresses;
    expect(hexOfTronAddress(shown)).toBe(stored);
    expect(show(stored)).toBe(shown);
    for (const text of [shown, stored, stored.toUpperCase().replace('0X', '0x'), `41${stored.slice(2)}`]) {
      expect(parse(text)).toEqual({ value: stored });
    }
  });

  test('with one wrong letter is rejected, wherever it is', () => {
    const right = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
    for (let at = 1; at < right.length; at++) {
      const wrong = `${right.slice(0, at)}${right[at] === 'x' ? 'y' : 'x'}${right.slice(at + 1)}`;
      expect(rulesOf(TRON).addresses.parse(wrong)).toEqual({
        error: 'the checksum does not match; check for a typing error',
      });
    }
  });

  test.each(['', 'T', '0x', `0x${'a'.repeat(39)}`, `${USDC}`, 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6O'])(
    'is not %j',
    (text) => {
      expect(rulesOf(TRON).addresses.parse(text)).toEqual({ error: expect.stringContaining('must be an address') });
    },
  );

  test('of any 20 bytes comes back from its text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), (bytes) => {
        const shown = showTronAddress(`0x${bytes.toHex()}`);
        expect(shown).toMatch(/^T[1-9A-HJ-NP-Za-km-z]{33}$/);
        expect(hexOfTronAddress(shown)).toBe(`0x${bytes.toHex()}`);
      }),
    );
  });
});

test.each([
  [8453, `0x${HASH.toUpperCase()}`, `0x${HASH}`],
  [TRON, HASH, `0x${HASH}`],
  [TRON, `0x${HASH}`, `0x${HASH}`],
  [900, SIGNATURE, SIGNATURE],
])('on network %d, the transaction %s is stored as %s', (networkId, text, stored) => {
  expect(rulesOf(networkId).transactionIds.parse(text)).toEqual({ value: stored });
  expect(storedTransactionId(text)).toBe(stored.startsWith('0x') && !text.startsWith('0x') ? `0x${HASH}` : stored);
});

test.each([
  [8453, HASH, '0x and 64 hex digits'],
  [8453, SIGNATURE, '0x and 64 hex digits'],
  [TRON, SIGNATURE, '64 hex digits, with 0x or without it'],
  [900, `0x${HASH}`, 'must be a transaction signature: 64 bytes in base58'],
  [900, USDC, 'must be a transaction signature: 64 bytes in base58'],
])('on network %d, %s is not a transaction', (networkId, text, message) => {
  expect(rulesOf(networkId).transactionIds.parse(text)).toEqual({ error: expect.stringContaining(message) });
});

test('a stored address is recognised by its form alone, and another text stays as it is', () => {
  expect(storedAddress('0xA614f803B6FD780986A42c78Ec9c7f77e6DeD13C')).toBe(
    '0xa614f803b6fd780986a42c78ec9c7f77e6ded13c',
  );
  expect(storedAddress('TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t')).toBe('0xa614f803b6fd780986a42c78ec9c7f77e6ded13c');
  expect(storedAddress(USDC)).toBe(USDC);
  expect(storedAddress('Order TR7')).toBe('Order TR7');
});

test('families have names and CAIP-2', () => {
  expect([1, TRON, 3_448_148_188, 900].map(familyOf)).toEqual(['evm', 'tron', 'tron', 'solana']);
  expect([TRON, 3_448_148_188, 2_494_104_990].map(networkName)).toEqual(['Tron', 'Tron Nile', 'Tron Shasta']);
  expect(caip2(TRON)).toBe('tron:0x2b6653dc');
  expect(caip2(3_448_148_188)).toBe('tron:0xcd8690dc');
  expect(caip2(2_494_104_990)).toBe('tron:0x94a9059e');
});

test('an explorer has a page for transactions, wallets and tokens', () => {
  expect(explorerUrl(8453, 'transaction', '0xab')).toBe('https://basescan.org/tx/0xab');
  expect(explorerUrl(8453, 'token', '0xab')).toBe('https://basescan.org/token/0xab');
  expect(explorerUrl(TRON, 'transaction', `0x${HASH}`)).toBe(`https://tronscan.org/#/transaction/${HASH}`);
  expect(explorerUrl(TRON, 'address', 'TR7')).toBe('https://tronscan.org/#/address/TR7');
  expect(explorerUrl(3_448_148_188, 'token', 'TR7')).toBe('https://nile.tronscan.org/#/token20/TR7');
  expect(explorerUrl(900, 'address', USDC)).toBe(`https://explorer.solana.com/address/${USDC}`);
  expect(explorerUrl(901, 'transaction', 'sig')).toBe('https://explorer.solana.com/tx/sig?cluster=devnet');
  expect(explorerUrl(424_242, 'transaction', '0xab')).toBeNull();
});

test('a listed token has the same symbol by its stored and its shown address', () => {
  for (const networkId of [1, 8453, TRON]) {
    const { parse, show } = rulesOf(networkId).addresses;
    for (const { symbol, address } of listedTokens(networkId)) {
      const parsed = parse(address);
      const stored = 'value' in parsed ? parsed.value : '';
      expect(show(stored)).toBe(address);
      expect(listedSymbol(networkId, stored)).toBe(symbol);
      expect(listedSymbol(networkId, address)).toBe(symbol);
    }
  }
});
