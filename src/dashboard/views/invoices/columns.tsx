import type { Invoice } from '../../../client/chain/invoices.ts';
import type { Column } from '../../components/lists/data-table.tsx';
import { Address } from '../../components/values/address.tsx';
import { Network } from '../../components/values/network.tsx';
import { decimalText } from '../../components/values/short-text.ts';
import { Time } from '../../components/values/time.tsx';
import { invoicePath } from '../../paths.ts';
import { Link } from '../../router.tsx';
import { InvoiceState } from './state-badge.tsx';
import { overpaidBy, priceText } from './words.ts';

export const INVOICE_COLUMNS: readonly Column<Invoice>[] = [
  {
    name: 'state',
    header: 'State',
    width: '11rem',
    narrow: { below: 'small', line: 'cell' },
    cell: (invoice) => <InvoiceState invoice={invoice} />,
  },
  { name: 'amount', header: 'Expected', width: 'rest', cell: (invoice) => <Expected invoice={invoice} /> },
  {
    name: 'received',
    header: 'Received',
    width: '9rem',
    narrow: { below: 'small', line: (invoice) => <Received invoice={invoice} label="received" /> },
    cell: (invoice) => <Received invoice={invoice} />,
  },
  {
    name: 'address',
    header: 'Address',
    width: '11rem',
    narrow: { below: 'wide', line: 'cell' },
    cell: ({ address }) => <Address value={address} label="address" />,
  },
  {
    name: 'dateExpires',
    header: 'Expires',
    sort: 'asc',
    width: '8rem',
    narrow: { below: 'medium' },
    cell: ({ dateExpires }) => <Time seconds={dateExpires} />,
  },
  {
    name: 'dateCreated',
    header: 'Created',
    sort: 'desc',
    width: '7rem',
    narrowWidth: '5.75rem',
    cell: ({ dateCreated }) => <Time seconds={dateCreated} />,
  },
];

/** The link covers the whole row. */
function Expected({ invoice }: { invoice: Invoice }) {
  const { invoiceId, amount, reference, networkId } = invoice;
  return (
    <>
      <div class="paid-amount">
        <Link to={invoicePath(invoiceId)} class="row-link">
          <span class="number">{priceText(amount, invoice)}</span>
        </Link>
      </div>
      <div class="cut small">
        {reference === null ? null : <span title={reference}>{reference} · </span>}
        <Network networkId={networkId} />
      </div>
    </>
  );
}

function Received({ invoice, label = '' }: { invoice: Invoice; label?: string }) {
  const { received, due } = invoice;
  const over = overpaidBy(invoice);
  return (
    <span class="number small">
      {decimalText(received)} {label}
      {due === '0' || received === '0' ? null : <span class="muted"> · {decimalText(due)} missing</span>}
      {over === null ? null : <span class="muted"> · {decimalText(over)} too much</span>}
    </span>
  );
}
