import type { Payment } from '../../../client/chain/payments.ts';
import { type Column, createdColumn } from '../../components/lists/data-table.tsx';
import { Address } from '../../components/values/address.tsx';
import { countText } from '../../components/values/count-text.ts';
import { Network } from '../../components/values/network.tsx';
import { paymentPath } from '../../paths.ts';
import { Link } from '../../router.tsx';
import { Amount } from './amount.tsx';
import { PaymentState } from './state-badge.tsx';
import { reachOf } from './words.ts';

export const PAYMENT_COLUMNS: readonly Column<Payment>[] = [
  {
    name: 'state',
    header: 'State',
    width: '8.5rem',
    narrow: { below: 'small', line: 'cell' },
    cell: (payment) => <PaymentState payment={payment} />,
  },
  { name: 'amount', header: 'Amount', width: 'rest', cell: (payment) => <Paid payment={payment} /> },
  {
    name: 'parties',
    header: 'From → to',
    width: '11rem',
    narrow: { below: 'wide', line: 'cell' },
    cell: (payment) => <Parties payment={payment} />,
  },
  {
    name: 'subject',
    header: 'Agreement or transfer',
    width: '11rem',
    narrow: { below: 'medium' },
    cell: ({ agreementId, transferId }) => <Subject id={agreementId ?? transferId} />,
  },
  {
    name: 'reach',
    header: 'Delivered',
    width: '8rem',
    narrow: { below: 'small', line: (payment) => <Reach payment={payment} /> },
    cell: (payment) => <Reach payment={payment} />,
  },
  createdColumn('Seen', { sort: 'desc', width: '7rem', narrowWidth: '5.75rem' }),
];

/** The link covers the whole row. */
function Paid({ payment }: { payment: Payment }) {
  return (
    <>
      <div class="paid-amount">
        <Link to={paymentPath(payment.paymentId)} class="row-link">
          <Amount payment={payment} />
        </Link>
      </div>
      <div class="cut small">
        <Network networkId={payment.networkId} />
      </div>
    </>
  );
}

function Parties({ payment: { payer, payee } }: { payment: Payment }) {
  return (
    <span class="parties small">
      {payer === null ? <span class="muted">unknown</span> : <Address value={payer} label="payer" />}
      <span class="muted" aria-hidden="true">
        →
      </span>
      <span class="visually-hidden">to</span>
      {payee === null ? <span class="muted">unknown</span> : <Address value={payee} label="payee" />}
    </span>
  );
}

function Subject({ id }: { id: string | null }) {
  if (id === null) return <span class="muted">–</span>;
  return (
    <div class="cut small">
      <code title={id}>{id}</code>
    </div>
  );
}

function Reach({ payment }: { payment: Payment }) {
  const { delivered, all } = reachOf(payment);
  if (payment.state === 'retracted') return <span class="muted small">retracted</span>;
  if (all === 0) return <span class="muted small">no webhook</span>;
  return (
    <span class="number small">
      to {countText(delivered)} of {countText(all)}
      {payment.deliveries.failed === 0 ? null : <span class="error-text"> · {payment.deliveries.failed} failed</span>}
    </span>
  );
}
