import { EVM } from './evm.ts';
import type { FamilyId, FamilyRules } from './family-rules.ts';
import { isSolanaAddress, isSolanaSignature, SOLANA } from './solana.ts';
import { hexOfTronAddress, TRON } from './tron.ts';

const FAMILIES: ReadonlyMap<number, FamilyRules> = new Map([
  [900, SOLANA],
  [901, SOLANA],
  [728_126_428, TRON],
  [3_448_148_188, TRON],
  [2_494_104_990, TRON],
]);

/** The rules for texts of a network. */
export function rulesOf(networkId: number): FamilyRules {
  return FAMILIES.get(networkId) ?? EVM;
}

export function familyOf(networkId: number): FamilyId {
  return rulesOf(networkId).id;
}

/** The network as CAIP-2 writes it. */
export function caip2(networkId: number): string {
  return rulesOf(networkId).caip2(networkId);
}

const HEX_ADDRESS = /^0x[0-9a-f]{40}$/i;

export function isHexAddress(text: string): boolean {
  return HEX_ADDRESS.test(text);
}

/** The stored form of an address of any family. Any other text stays as it is. */
export function storedAddress(text: string): string {
  return isHexAddress(text) ? text.toLowerCase() : (hexOfTronAddress(text) ?? text);
}

/** Whether a text is the stored form of an address of any family. */
export function isStoredAddress(text: string): boolean {
  return HEX_ADDRESS.test(text) || isSolanaAddress(text);
}

const HASH = /^(?:0x)?([0-9a-f]{64})$/i;

/** The stored form of a transaction id of any family; null for any other text. */
export function storedTransactionId(text: string): string | null {
  const digits = HASH.exec(text)?.[1];
  if (digits !== undefined) return `0x${digits.toLowerCase()}`;
  return isSolanaSignature(text) ? text : null;
}
