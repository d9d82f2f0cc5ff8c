import { storedTransactionId } from '../../../domain/chain/families/families.ts';
import { paybell } from '../../api.ts';
import { DASHBOARD_PATHS, paymentPath } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';
import { useResponse } from '../../use-response.ts';
import { Icon } from '../icon.tsx';

/** Leads from a transaction hash in a search box to the payment, and names the places of other logs. */
export function TransactionNotice({ text }: { text: string | undefined }) {
  const hash = storedTransactionId(text?.trim() ?? '');
  return hash === null ? null : <Notice key={hash} hash={hash} />;
}

function Notice({ hash }: { hash: string }) {
  const { data } = useResponse(hash, (signal) =>
    paybell().payments.list({ transactionHash: hash, limit: 1 }, { signal }),
  );
  const [payment] = data?.payments ?? [];
  const total = data?.totalResults ?? 0;
  const all = urlFor(DASHBOARD_PATHS.payments, { q: hash });
  return (
    <p class="alert transaction-notice" role="status">
      <Icon name="info" />
      <span>
        This is a transaction. {data !== null && total === 0 ? 'No payment has it. ' : null}
        Logs of agreements are among the <Link to={urlFor(DASHBOARD_PATHS.events, { q: hash })}>events</Link> and in{' '}
        <code>paybell facts</code>.
      </span>
      {payment === undefined ? null : (
        <Link to={total === 1 ? paymentPath(payment.paymentId) : all} class="button button-small button-primary">
          {total === 1 ? 'Show the payment' : `Show ${total} payments`}
        </Link>
      )}
    </p>
  );
}

/** The query of a list in which `q` does not find transactions: a hash in it becomes the filter for transactions. */
export function withTransaction(parameters: Readonly<Record<string, string>>): Record<string, string> {
  const hash = storedTransactionId(parameters.q?.trim() ?? '');
  if (hash === null) return { ...parameters };
  const { q: _, ...others } = parameters;
  return { ...others, transactionHash: hash };
}
