import { NATIVE_TOKEN } from './coin.ts';
import { PRACTICE_NETWORK, PRACTICE_TOKEN } from './practice.ts';

/**
 * Tokens as people see them. The address identifies a token. Anyone can deploy a token with any symbol, so a symbol
 * decides nothing. Only the symbols of the tokens listed here are verified.
 */

/** The statements of a token about itself; null for a part that it does not state. */
export type StatedToken = { readonly decimals: number | null; readonly symbol: string | null };

/** The address as the network's family stores it, and as people see it if that differs. */
type Listed = readonly [networkId: number, symbol: string, address: string, shown?: string];

/** The coins of networks. */
const COINS: readonly (readonly [networkId: number, symbol: string])[] = [
  [1, 'ETH'],
  [10, 'ETH'],
  [56, 'BNB'],
  [137, 'POL'],
  [8453, 'ETH'],
  [42161, 'ETH'],
  [42220, 'CELO'],
  [900, 'SOL'],
];

/**
 * Issued on these networks by Circle (USDC, EURC), Tether (USDT) and Sky (DAI) themselves. Bridged forms are not listed. Circle's
 * own pages list its tokens: developers.circle.com/stablecoins/usdc-contract-addresses and /eurc-contract-addresses.
 */
const LISTED: readonly Listed[] = [
  [PRACTICE_NETWORK, 'practice USDC', PRACTICE_TOKEN],
  [1, 'USDC', '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'],
  [1, 'USDT', '0xdac17f958d2ee523a2206206994597c13d831ec7'],
  [1, 'DAI', '0x6b175474e89094c44da98b954eedeac495271d0f'],
  [1, 'EURC', '0x1abaea1f7c830bd89acc67ec4af516284b1bc33c'],
  [10, 'USDC', '0x0b2c639c533813f4aa9d7837caf62653d097ff85'],
  [137, 'USDC', '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359'],
  [8453, 'USDC', '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'],
  [8453, 'EURC', '0x60a3e35cc302bfa44cb288bc5a4f316fdb1adb42'],
  [42161, 'USDC', '0xaf88d065e77c8cc2239327c5edb3a432268e5831'],
  ...COINS.map(([networkId, symbol]): Listed => [networkId, symbol, NATIVE_TOKEN]),
  [900, 'USDC', 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'],
  [900, 'USDT', 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB'],
  [728126428, 'USDT', '0xa614f803b6fd780986a42c78ec9c7f77e6ded13c', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'],
];

const SYMBOLS: ReadonlyMap<string, string> = new Map(
  LISTED.flatMap(([networkId, symbol, address, shown = address]) => [
    [keyOf(networkId, address), symbol] as const,
    [keyOf(networkId, shown), symbol] as const,
  ]),
);

function keyOf(networkId: number, address: string): string {
  return `${networkId} ${address}`;
}

/** The verified symbol of a token, by its address as it is stored or shown; null if the token is not listed. */
export function listedSymbol(networkId: number, address: string): string | null {
  return SYMBOLS.get(keyOf(networkId, address.startsWith('0x') ? address.toLowerCase() : address)) ?? null;
}

/** The symbols of listed tokens whose unit is meant to be worth one US dollar. */
const DOLLARS: ReadonlySet<string> = new Set(['practice USDC', 'USDC', 'USDT', 'DAI']);

/** Whether a token, by its address as it is stored or shown, is a listed stablecoin of the dollar. */
export function isDollar(networkId: number, address: string): boolean {
  return DOLLARS.has(listedSymbol(networkId, address) ?? '');
}

/** The listed tokens of a network, for people to choose from. */
export function listedTokens(networkId: number): { symbol: string; address: string }[] {
  return LISTED.flatMap(([network, symbol, address, shown = address]) =>
    network === networkId && address !== NATIVE_TOKEN ? { symbol, address: shown } : [],
  );
}

const MAX_SYMBOL_CHARACTERS = 32;
/** Control characters, characters that reverse or hide text, and line ends. */
const UNSAFE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** A symbol without characters that could deceive a reader. Null if nothing is left. */
export function cleanSymbol(stated: string): string | null {
  const cleaned = stated.replace(UNSAFE, '').replace(/\s+/g, ' ').trim();
  return cleaned === '' ? null : [...cleaned].slice(0, MAX_SYMBOL_CHARACTERS).join('').trimEnd();
}
