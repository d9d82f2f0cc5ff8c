import { describeFinality, type WebhookFinality } from '../../../domain/chain/finality-by-amount.ts';

/** A finality as a state that an event reaches. */
export function finalityWords(finality: WebhookFinality): string {
  return describeFinality(finality);
}
