import { type FinalityByAmount, ruleAmount } from '../../../src/domain/chain/finality-by-amount.ts';
import { paymentColumns } from '../../../src/domain/chain/payments.ts';

/** The amounts of payments, which webhooks with rules compare. */

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
export type PaymentFields = { readonly amount: string; readonly token: string };

/** The amount that rules compare, by the fields of the payment and of the invoice that it pays. */
export function ruleAmountOf(networkId: number, payment: PaymentFields, invoice?: PaymentFields): string | null {
  const expected = invoice === undefined ? null : paymentColumns('Transfer', invoice).amount;
  return ruleAmount(networkId, paymentColumns('Transfer', payment), expected);
}
