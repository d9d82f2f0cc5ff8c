import type { Decoder } from '../../../src/chain/evm/follow/evm-poll.ts';
import type { Log } from '../../../src/chain/evm/rpc/types.ts';
import { type FinalityByAmount, ruleAmount } from '../../../src/domain/chain/finality-by-amount.ts';
import { paymentColumns } from '../../../src/domain/chain/payments.ts';
import { modelDecoder } from '../../support/chain/model-decoder.ts';
import { NETWORK_ID } from './settings.ts';

/** The amounts of payments, which webhooks with rules compare. */

/** USDC on the network with the number 1. */
export const DOLLARS = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48';

/** Each is for another level of the rules. */
export const AMOUNTS = [20, 200, 2_000];

export const RULES: FinalityByAmount = {
  rules: [
    { maxAmount: '50', tokens: ['usd'], finality: 'seen' },
    { maxAmount: '500', tokens: ['usd'], finality: 3 },
  ],
  otherwise: 'final',
};

/** The fields of a payload that are the payment. */
export function paymentOf(amount: number | string): { readonly amount: string; readonly token: string } {
  return { amount: String(amount), token: DOLLARS };
}

type PaymentFields = ReturnType<typeof paymentOf>;

/** The amount that rules compare, by the fields of the payment and of the invoice that it pays. */
export function ruleAmountOf(payment: PaymentFields, invoice?: PaymentFields): string | null {
  const expected = invoice === undefined ? null : paymentColumns('Transfer', invoice).amount;
  return ruleAmount(NETWORK_ID, paymentColumns('Transfer', payment), expected);
}

/** The payment that a log tells of, by its data. */
export function paymentOfLog({ data }: Pick<Log, 'data'>): PaymentFields {
  return paymentOf(AMOUNTS[Number(BigInt(data) % BigInt(AMOUNTS.length))] ?? 0);
}

/** The decoder of the model, with the amount of each payment. */
export const amountDecoder: Decoder = {
  ...modelDecoder,
  decode: async (logs, sources, onTaken) => {
    const byPlace = new Map(logs.map((log) => [`${log.blockHash} ${log.logIndex}`, log]));
    const facts = await modelDecoder.decode(logs, sources, onTaken);
    return facts.map((fact) => {
      const log = byPlace.get(`${fact.position.blockHash} ${fact.position.logIndex}`);
      return log === undefined ? fact : { ...fact, fields: paymentOfLog(log) };
    });
  },
};
