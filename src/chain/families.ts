import { familyOf } from '../domain/chain/families/families.ts';
import type { FamilyId } from '../domain/chain/families/family-rules.ts';
import type { Family } from './family.ts';

/** Loads a family with its first network, so that a service without such a network saves the memory. */
const FAMILIES: Readonly<Record<FamilyId, () => Promise<Family>>> = {
  evm: async () => (await import('./evm/family.ts')).EVM,
  tron: async () => (await import('./tron/family.ts')).TRON,
  solana: async () => (await import('./solana/family.ts')).SOLANA,
};

export function loadFamily(networkId: number): Promise<Family> {
  return FAMILIES[familyOf(networkId)]();
}

export async function loadFamilies(networkIds: readonly number[]): Promise<ReadonlyMap<number, Family>> {
  const families = networkIds.map(async (networkId) => [networkId, await loadFamily(networkId)] as const);
  return new Map(await Promise.all(families));
}
