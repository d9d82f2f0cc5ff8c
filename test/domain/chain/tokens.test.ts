import { expect, test } from 'bun:test';
import { getAddress } from 'viem/utils';
import { familyOf } from '../../../src/domain/chain/families/families.ts';
import { cleanSymbol, isDollar, listedSymbol, listedTokens } from '../../../src/domain/chain/tokens.ts';
import { DEFAULT_NETWORKS } from '../../../src/domain/networks.ts';

test('a listed token has its symbol on its own network alone', () => {
  const usdcOnBase = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913';
  expect(listedSymbol(8453, usdcOnBase)).toBe('USDC');
  expect(listedSymbol(1, usdcOnBase)).toBeNull();
  expect(listedTokens(8453).map(({ symbol }) => symbol)).toEqual(['USDC', 'EURC']);
});

test('tokens of Solana are listed by the letters of their addresses, which have a case', () => {
  const usdc = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
  expect(listedSymbol(900, usdc)).toBe('USDC');
  expect(isDollar(900, usdc)).toBe(true);
  expect(listedSymbol(900, usdc.toLowerCase())).toBeNull();
  expect(listedSymbol(900, 'native')).toBe('SOL');
});

test('the list has the addresses that the issuers publish with their checksums', () => {
  const listed = DEFAULT_NETWORKS.filter((networkId) => familyOf(networkId) === 'evm').flatMap((networkId) =>
    listedTokens(networkId).map(({ symbol, address }) => `${networkId} ${symbol} ${getAddress(address)}`),
  );
  expect(listed).toEqual([
    '1 USDC 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
    '1 USDT 0xdAC17F958D2ee523a2206206994597C13D831ec7',
    '1 DAI 0x6B175474E89094C44Da98b954EedeAC495271d0F',
    '1 EURC 0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c',
    '10 USDC 0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85',
    '137 USDC 0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
    '8453 USDC 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    '8453 EURC 0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42',
    '42161 USDC 0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
  ]);
});

test.each([
  ['USDC', 'USDC'],
  ['  US\u200bD\u202eC\u0000 \n', 'USDC'],
  ['a\u2028b\u00adc', 'abc'],
  ['two   words', 'two words'],
  ['x'.repeat(40), 'x'.repeat(32)],
  ['😀'.repeat(40), '😀'.repeat(32)],
  ['\u202e\u200f', null],
  ['', null],
])('a symbol is shown without characters that hide or reverse text: %j', (stated, shown) => {
  expect(cleanSymbol(stated)).toBe(shown);
});
