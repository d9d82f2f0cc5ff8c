import type { Config } from '../config.ts';
import { leastDepthOf } from '../domain/chain/witnesses.ts';

/** The least credible depth of finality on a network: the setting, or the built-in depth. */
export function leastDepthIn({ CHAIN_MIN_DEPTH }: Pick<Config, 'CHAIN_MIN_DEPTH'>, networkId: number): number {
  return CHAIN_MIN_DEPTH.find((one) => one.networkId === networkId)?.depth ?? leastDepthOf(networkId);
}
