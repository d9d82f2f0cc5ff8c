import { transactionHashIn } from '../../../domain/chain/payment-search.ts';
import { PastTheEnd } from '../../components/lists/past-the-end.tsx';
import { Empty } from '../../components/view/states.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';
import { AddSource } from '../sources/add-source.tsx';
import { clearFilters, type FilterValues } from './filters.tsx';

export function NoPayments({ onAdded }: { onAdded: () => void }) {
  return (
    <Empty icon="payments" title="No payments yet">
      <p>A payment appears here when a source reads it from a network, or when a sender announces its transaction.</p>
      <AddSource onAdded={onAdded} isPrimary />
    </Empty>
  );
}

type NoMatchesProps = { total: number; limit: number; values: FilterValues };

/** There are payments, but none on this page or for these filters. */
export function NoMatches({ total, limit, values: { q } }: NoMatchesProps) {
  if (total > 0) return <PastTheEnd total={total} limit={limit} />;
  const hash = q === undefined ? null : transactionHashIn(q);
  return (
    <Empty icon="search" title="No matching payments">
      {hash !== null ? (
        <p>
          No payment has this transaction. A transaction of an agreement leads to{' '}
          <Link to={urlFor(DASHBOARD_PATHS.events, { q: hash })}>its events</Link>, and{' '}
          <code>paybell facts --transaction-hash</code> shows every log that Paybell has read.
        </p>
      ) : q === undefined ? (
        <p>No payment matches these filters.</p>
      ) : (
        <p>
          No payment has <code>{q}</code> as its transaction, account, amount, agreement or transfer. An ID has to be
          complete.
        </p>
      )}
      <button type="button" class="button" onClick={clearFilters}>
        Show all payments
      </button>
    </Empty>
  );
}
