import type { Payment } from '../../../client/chain/payments.ts';
import { isPractice } from '../../../domain/chain/practice.ts';
import { Badge } from '../../components/values/badge.tsx';
import { IS_PRACTICE } from '../../settings.ts';
import { isZero, STATE_DISPLAY } from './words.ts';

/** The state, and why Paybell does not deliver the payment or delays it. */
export function PaymentState({ payment }: { payment: Payment }) {
  const { networkId, state, isDisputed, isDust, isHistory } = payment;
  return (
    <>
      <Badge {...STATE_DISPLAY[state]} />{' '}
      {IS_PRACTICE || isPractice(networkId) ? <Badge tone="neutral" icon="payments" label="Practice" /> : null}
      {isDisputed ? <Badge tone="warning" icon="alert" label="Disputed" /> : null}
      {isDust ? <Badge tone="neutral" icon="minus" label={isZero(payment) ? 'Zero amount' : 'Dust'} /> : null}
      {isHistory ? <Badge tone="neutral" icon="clock" label="History" /> : null}
    </>
  );
}
