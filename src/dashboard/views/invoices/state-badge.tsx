import type { Invoice } from '../../../client/chain/invoices.ts';
import { Badge } from '../../components/values/badge.tsx';
import { STATE_DISPLAY } from './words.ts';

/** The state, whether it is final, and whether the payment was late. */
export function InvoiceState({ invoice: { state, isFinal, isLate } }: { invoice: Invoice }) {
  return (
    <>
      <Badge {...STATE_DISPLAY[state]} /> {isFinal ? <Badge tone="good" icon="double" label="Final" /> : null}
      {isLate ? <Badge tone="warning" icon="clock" label="Late" /> : null}
    </>
  );
}
