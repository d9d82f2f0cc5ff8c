import { decodeBase58 } from './base58.ts';
import { type FamilyRules, type Parsed, sameText } from './family-rules.ts';

/** By network, the beginning of the hash of its first block. */
const GENESIS: ReadonlyMap<number, string> = new Map([
  [900, '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'],
  [901, 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1'],
]);

/** The beginning of the hash of the first block. */
export function genesisOf(networkId: number): string {
  return GENESIS.get(networkId) ?? String(networkId);
}

const ADDRESS_BYTES = 32;
const SIGNATURE_BYTES = 64;
/** 64 bytes have at most 88 digits. */
const MAX_LENGTH = 88;

function bytesIn(text: string): number {
  return text.length > MAX_LENGTH ? 0 : (decodeBase58(text)?.length ?? 0);
}

export function isSolanaAddress(text: string): boolean {
  return bytesIn(text) === ADDRESS_BYTES;
}

export function isSolanaSignature(text: string): boolean {
  return bytesIn(text) === SIGNATURE_BYTES;
}

function parseAddress(text: string): Parsed {
  if (isSolanaAddress(text)) return { value: text };
  return { error: 'must be a base58 address of 32 bytes, as in EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v' };
}

function parseTransactionId(text: string): Parsed {
  if (isSolanaSignature(text)) return { value: text };
  return { error: 'must be a transaction signature: 64 bytes in base58' };
}

export const SOLANA: FamilyRules = {
  id: 'solana',
  unit: 'slot',
  caip2: (networkId) => `solana:${genesisOf(networkId)}`,
  addresses: { parse: parseAddress, show: sameText, hasForm: isSolanaAddress },
  transactionIds: { parse: parseTransactionId, show: sameText, hasForm: isSolanaSignature },
  presets: ['spl', 'native'],
};
