import type { Payment } from '../../../client/chain/payments.ts';
import { Badge } from '../../components/values/badge.tsx';
import { STATE_DISPLAY } from './words.ts';

/** The state, and why Paybell delivers nothing for the payment or waits with it. */
export function PaymentState({ payment }: { payment: Payment }) {
  const { label, tone, icon } = STATE_DISPLAY[payment.state];
  return (
    <>
      <Badge tone={tone} icon={icon}>
        {label}
      </Badge>{' '}
      {payment.isDisputed ? (
        <Badge tone="warning" icon="alert">
          Disputed
        </Badge>
      ) : null}
      {payment.isDust ? (
        <Badge tone="neutral" icon="minus">
          Dust
        </Badge>
      ) : null}
      {payment.isHistory ? (
        <Badge tone="neutral" icon="clock">
          History
        </Badge>
      ) : null}
    </>
  );
}
