import type { Payment } from '../../../client/chain/payments.ts';
import { decimalText, shortText } from '../../components/values/short-text.ts';

type Paid = Pick<Payment, 'amount' | 'amountBase' | 'token'>;

/** The amount as text, for a sentence and for a title. A symbol that is not verified never stands alone. */
export function amountText({ amount, amountBase, token }: Paid): string {
  const unit = token.symbol ?? (token.address === null ? '' : shortText(token.address));
  if (amount !== null) return `${decimalText(amount)} ${unit}`.trim();
  return amountBase === null ? 'Unknown amount' : `${decimalText(amountBase)} base units ${unit}`.trim();
}

/**
 * The exact amount with separators, and the token. Anyone can choose any symbol, so symbols outside the list are
 * marked.
 */
export function Amount({ payment }: { payment: Paid }) {
  const { token } = payment;
  return (
    <span class="amount-text">
      <span class="number" title={amountText(payment)}>
        {amountText(payment)}
      </span>
      {token.symbol === null || token.isListed ? null : (
        <span
          class="unverified small"
          title={`Paybell does not know this token. Anyone can choose a symbol: compare its address${
            token.address === null ? '' : `, ${token.address}`
          }.`}
        >
          {' '}
          unverified
        </span>
      )}
    </span>
  );
}
