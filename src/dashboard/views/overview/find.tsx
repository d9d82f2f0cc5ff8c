import { useState } from 'preact/hooks';
import { readPaymentSearch } from '../../../domain/chain/payment-search.ts';
import { paybell } from '../../api.ts';
import { Icon } from '../../components/icon.tsx';
import { Form, TextField, textIn } from '../../components/inputs.tsx';
import { DASHBOARD_PATHS, invoicePath, paymentPath } from '../../paths.ts';
import { navigate, urlFor } from '../../router.tsx';
import { missingPermissions } from '../../session.ts';

/** Finds a payment, an invoice, a delivery or an event by any of its ids. */
export function Find() {
  const [busy, setBusy] = useState(false);
  const find = async (q: string) => {
    if (q === '') return;
    setBusy(true);
    navigate(await targetOf(q));
  };
  return (
    <search>
      <Form class="find" onSubmit={(form) => void find(textIn(form, 'q'))}>
        <TextField
          label="Find"
          field="field-grow"
          name="q"
          type="search"
          maxLength={256}
          spellcheck={false}
          placeholder="Transaction, address, amount, transfer, agreement, invoice, event, delivery, URL or host"
        />
        <button type="submit" class="button button-primary" disabled={busy}>
          <Icon name="search" size={14} />
          Find
        </button>
      </Form>
    </search>
  );
}

/** A payment has the most facts, then an invoice. Without one, the list of deliveries also names an event that has no delivery. */
async function targetOf(q: string): Promise<string> {
  const search = readPaymentSearch(q);
  const { by } = search;
  const deliveries = urlFor(DASHBOARD_PATHS.deliveries, { q });
  if (by === 'event' || by === 'delivery' || missingPermissions.get().has('payments:read')) return deliveries;
  const found = await paybell()
    .payments.list({ q, limit: 1 })
    .catch(() => null);
  const [payment] = found?.payments ?? [];
  if (found?.totalResults === 1 && payment !== undefined) return paymentPath(payment.paymentId);
  if (by === 'transaction' && payment === undefined)
    return (await hasDeliveries(search.hash)) ? deliveries : inPayloads(q);
  const payments = urlFor(DASHBOARD_PATHS.payments, { q });
  if (payment !== undefined) return payments;
  return (await invoicesOf(q)) ?? (by === 'subject' ? deliveries : payments);
}

/** The invoice with this reference, address or id, or the list of several; null without one. */
async function invoicesOf(q: string): Promise<string | null> {
  const found = await paybell()
    .invoices.list({ q, limit: 1 })
    .catch(() => null);
  const [invoice] = found?.invoices ?? [];
  if (invoice === undefined) return null;
  return found?.totalResults === 1 ? invoicePath(invoice.invoiceId) : urlFor(DASHBOARD_PATHS.invoices, { q });
}

async function hasDeliveries(transactionHash: string): Promise<boolean> {
  const query = { transactionHash, limit: 1 };
  return paybell()
    .deliveries.list(query)
    .then(({ totalResults }) => totalResults > 0)
    .catch(() => true);
}

/** If an event was not read from a network, its transaction hash is only in its payload. */
function inPayloads(q: string): string {
  return urlFor(DASHBOARD_PATHS.deliveries, { payload: q, range: '1d' });
}
