import type { Finality } from '../../../domain/chain/finality.ts';

/** A finality as a state that an event reaches. */
export function finalityWords(finality: Finality): string {
  return typeof finality === 'number' ? `${finality} confirmations` : finality;
}
