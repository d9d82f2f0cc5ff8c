import { EvmNetwork } from './evm/network.ts';
import type { Network } from './network.ts';
import { SolanaNetwork } from './solana/network.ts';

/** The families of networks that a run can have. */
export const FAMILIES = ['evm', 'solana'] as const;
export type FamilyName = (typeof FAMILIES)[number];

export function newNetwork(family: FamilyName, seed: number): Network {
  return family === 'solana' ? new SolanaNetwork(seed) : new EvmNetwork(seed);
}
