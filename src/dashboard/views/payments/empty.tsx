import { storedTransactionId } from '../../../domain/chain/families/families.ts';
import { NoMatch } from '../../components/lists/list.tsx';
import type { ListState } from '../../components/lists/use-list.ts';
import { Empty } from '../../components/view/states.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';
import { AddSource } from '../sources/add-source.tsx';

export function NoPayments({ onAdded }: { onAdded: () => void }) {
  return (
    <Empty icon="payments" title="No payments yet">
      <p>A payment appears here when a source reads it from a network, or when a sender announces its transaction.</p>
      <AddSource onAdded={onAdded} isPrimary />
    </Empty>
  );
}

/** Shown if there are payments, but none for these filters. */
export function NoMatchingPayment({ list: { filters, clear } }: { list: ListState }) {
  const { q } = filters;
  const hash = q === undefined ? null : storedTransactionId(q);
  return (
    <NoMatch what="payments" clear={clear}>
      {hash !== null ? (
        <p>
          No payment has this transaction. A transaction of an agreement leads to{' '}
          <Link to={urlFor(DASHBOARD_PATHS.events, { q: hash })}>its events</Link>, and{' '}
          <code>paybell facts --transaction-hash</code> shows every log that Paybell has read.
        </p>
      ) : q === undefined ? null : (
        <p>
          No payment has <code>{q}</code> as its transaction, account, amount, agreement or transfer. An ID has to be
          complete.
        </p>
      )}
    </NoMatch>
  );
}
