import { paybell } from '../../api.ts';
import { Icon } from '../../components/icon.tsx';
import { countOf } from '../../components/values/count-text.ts';
import { useObservable } from '../../observable.ts';
import { DASHBOARD_PATHS, invoicePath, paymentPath } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';
import { missingPermissions } from '../../session.ts';
import { useResponse } from '../../use-response.ts';
import { waitText } from '../payments/words.ts';

/**
 * Shown when a search finds no deliveries: links to the payment, the invoice or the event with this ID, which may not
 * have a delivery yet.
 */
export function KnownOtherwise({ q }: { q: string }) {
  const mayRead = !useObservable(missingPermissions).has('payments:read');
  return (
    <>
      {mayRead ? <PaymentOf q={q} /> : null}
      {mayRead ? <InvoiceOf q={q} /> : null}
      <EventOf q={q} />
    </>
  );
}

function PaymentOf({ q }: { q: string }) {
  const { data, isStale } = useResponse(`payment ${q}`, (signal) =>
    paybell().payments.list({ q, limit: 1 }, { signal }),
  );
  const [payment] = data?.payments ?? [];
  if (isStale || data === null || payment === undefined) return null;
  const { waitsFor } = payment;
  const one = data.totalResults === 1;
  return (
    <p class="alert undelivered" role="status">
      <Icon name="payments" />
      <span>
        {countOf(data.totalResults, 'payment has', 'payments have')} this ID.{' '}
        {one && waitsFor !== null ? `No delivery yet: ${waitText(waitsFor, Date.now() / 1000).toLowerCase()}.` : null}
      </span>
      <Link
        class="button button-small button-primary"
        to={one ? paymentPath(payment.paymentId) : urlFor(DASHBOARD_PATHS.payments, { q })}
      >
        {one ? 'Show the payment' : 'Show the payments'}
      </Link>
    </p>
  );
}

function InvoiceOf({ q }: { q: string }) {
  const { data, isStale } = useResponse(`invoices ${q}`, (signal) =>
    paybell().invoices.list({ q, limit: 1 }, { signal }),
  );
  const [invoice] = data?.invoices ?? [];
  if (isStale || data === null || invoice === undefined) return null;
  const isOne = data.totalResults === 1;
  return (
    <p class="alert undelivered" role="status">
      <Icon name="invoices" />
      <span>{countOf(data.totalResults, 'invoice has', 'invoices have')} this reference or ID.</span>
      <Link
        class="button button-small button-primary"
        to={isOne ? invoicePath(invoice.invoiceId) : urlFor(DASHBOARD_PATHS.invoices, { q })}
      >
        {isOne ? 'Show the invoice' : 'Show the invoices'}
      </Link>
    </p>
  );
}

function EventOf({ q }: { q: string }) {
  const { data, isStale } = useResponse(`events ${q}`, (signal) => paybell().events.list({ q, limit: 25 }, { signal }));
  if (isStale || data === null || data.totalResults === 0) return null;
  const { totalResults, events } = data;
  const isOne = totalResults === 1;
  const reachedNone = events.length === totalResults && events.every(({ matched }) => !matched);
  return (
    <p class="alert alert-warning undelivered" role="status">
      <Icon name="alert" />
      <span>
        Paybell has accepted {isOne ? 'an event' : countOf(totalResults, 'event')} with this ID
        {reachedNone ? (
          <>
            , but <strong>{isOne ? 'it reached no webhook' : 'none of them reached a webhook'}</strong>, so nothing was
            sent.
          </>
        ) : (
          `. No delivery of ${isOne ? 'it' : 'them'} matches all filters.`
        )}
      </span>
      <Link class="button button-small" to={urlFor(DASHBOARD_PATHS.events, { q })}>
        {isOne ? 'Show the event' : 'Show the events'}
      </Link>
    </p>
  );
}
