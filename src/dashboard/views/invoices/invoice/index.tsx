import type { InvoiceDetail } from '../../../../client/chain/invoices.ts';
import { NATIVE_TOKEN } from '../../../../domain/chain/coin.ts';
import { paybell } from '../../../api.ts';
import { DataTable } from '../../../components/lists/data-table.tsx';
import { QrCode } from '../../../components/qr/qr-code.tsx';
import { Address } from '../../../components/values/address.tsx';
import { CopyButton } from '../../../components/values/copy.tsx';
import { Facts } from '../../../components/values/facts.tsx';
import { Network } from '../../../components/values/network.tsx';
import { DateTime } from '../../../components/values/time.tsx';
import { LiveSwitch } from '../../../components/view/live-switch.tsx';
import { Loaded } from '../../../components/view/loaded.tsx';
import { Section } from '../../../components/view/section.tsx';
import { BackLink, ViewHead } from '../../../components/view/view-head.tsx';
import { useLiveResponse } from '../../../live.ts';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { PAYMENT_COLUMNS } from '../../payments/columns.tsx';
import { InvoiceState } from '../state-badge.tsx';
import { blindSpotOf, overpaidBy, priceText, sentenceOf } from '../words.ts';
import { CancelInvoice, CheckBalance } from './actions.tsx';

const POLL_MS = 3_000;
/** Leaves out the columns that are the same for all payments of an invoice. */
const COLUMNS = PAYMENT_COLUMNS.filter(({ name }) => name !== 'parties' && name !== 'subject');

/** One invoice: what to pay and where, what was received, and what is missing. */
export function InvoiceView({ invoiceId }: { invoiceId: string }) {
  const response = useLiveResponse(invoiceId, (signal) => paybell().invoices.get(invoiceId, { signal }), POLL_MS);
  const { data, reload } = response;
  return (
    <>
      <BackLink to={DASHBOARD_PATHS.invoices} text="All invoices" />
      <ViewHead title={data === null ? 'Invoice' : titleOf(data)}>
        <LiveSwitch />
        {data === null ? null : <CancelInvoice invoice={data} reload={reload} />}
      </ViewHead>
      <Loaded response={response} what="invoice">
        {(invoice) => <Invoice invoice={invoice} reload={reload} />}
      </Loaded>
    </>
  );
}

function titleOf(invoice: InvoiceDetail): string {
  const { amount, reference } = invoice;
  return `${priceText(amount, invoice)}${reference === null ? '' : ` for ${reference}`}`;
}

type InvoiceProps = { invoice: InvoiceDetail; reload: () => Promise<void> };

function Invoice({ invoice, reload }: InvoiceProps) {
  const { amount, received, receivedFinal, due, payments, paymentCount } = invoice;
  const over = overpaidBy(invoice);
  return (
    <>
      <div class="payment-sentence">
        <span>
          <InvoiceState invoice={invoice} />
        </span>
        <p role="status">{sentenceOf(invoice)}</p>
      </div>
      <dl class="answers">
        <Sum name="Expected" amount={amount} of={invoice} note={`due by `} dateS={invoice.dateExpires} />
        <Sum
          name="Received"
          amount={received}
          of={invoice}
          note={`${priceText(receivedFinal, invoice)} cannot be undone`}
        />
        {over === null ? (
          <Sum
            name="Missing"
            amount={due}
            of={invoice}
            note={due === '0' ? 'the sum is complete' : 'until the sum is complete'}
          />
        ) : (
          <Sum name="Overpaid by" amount={over} of={invoice} note="more than expected" />
        )}
      </dl>
      <div class="payment-columns">
        <div class="stack">
          <Section title="Payment address" isCard>
            <PayTo invoice={invoice} />
          </Section>
          <Section title="Details" isCard>
            <Details invoice={invoice} />
          </Section>
        </div>
        <div class="stack">
          <Section title={`Payments (${paymentCount})`}>
            {payments.length === 0 ? (
              <p class="muted">No payment to this address counts yet.</p>
            ) : (
              <DataTable
                name="payments row-links"
                caption="Payments of the invoice"
                columns={COLUMNS}
                rows={payments}
                keyOf={({ paymentId }) => paymentId}
              />
            )}
          </Section>
          <Section title="What Paybell cannot see" isCard actions={<CheckBalance invoice={invoice} reload={reload} />}>
            <p>{blindSpotOf(invoice)}</p>
            <Unexplained invoice={invoice} />
          </Section>
        </div>
      </div>
    </>
  );
}

type SumProps = { name: string; amount: string; of: InvoiceDetail; note: string; dateS?: number };

function Sum({ name, amount, of, note, dateS }: SumProps) {
  return (
    <div class="card answer">
      <dt>{name}</dt>
      <dd class="answer-short number">{priceText(amount, of)}</dd>
      <dd class="small muted">
        {note}
        {dateS === undefined ? null : <DateTime seconds={dateS} />}
      </dd>
    </div>
  );
}

function PayTo({ invoice: { address, networkId, match, amount, ...priced } }: { invoice: InvoiceDetail }) {
  return (
    <div class="pay-to">
      <QrCode text={address} label={`QR code of the address ${address}`} />
      <div class="stack">
        <code class="pay-to-address">{address}</code>
        <span>
          <CopyButton text={address} label="Copy address" />
        </span>
        <p class="small muted">
          {match === 'exact' ? 'Exactly ' : ''}
          {priceText(amount, priced)} on <Network networkId={networkId} />
        </p>
      </div>
    </div>
  );
}

function Details({ invoice }: { invoice: InvoiceDetail }) {
  const { networkId, token, symbol, isListed, reference, agreementId, transferId, fromBlock, untilBlock } = invoice;
  return (
    <Facts
      of={{
        Network: <Network networkId={networkId} />,
        Token: (
          <>
            {token === NATIVE_TOKEN ? (
              'coin of the network'
            ) : (
              <Address value={token} label="token" on={{ networkId, page: 'token' }} />
            )}{' '}
            {symbol === null ? null : (
              <span class="small muted">{isListed ? symbol : `calls itself ${symbol}, unverified`}</span>
            )}
          </>
        ),
        Reference: reference,
        Agreement: agreementId,
        Transfer: transferId === invoice.invoiceId ? null : transferId,
        Tolerance: invoice.tolerancePercent === 0 ? null : `${invoice.tolerancePercent} %`,
        Expires: <DateTime seconds={invoice.dateExpires} />,
        'Late payments': (
          <>
            count until <DateTime seconds={invoice.dateWatchedUntil} />
          </>
        ),
        Blocks: `${fromBlock} to ${untilBlock ?? 'now'}`,
        Invoice: <Address value={invoice.invoiceId} label="invoice ID" />,
      }}
    />
  );
}

function Unexplained({ invoice }: { invoice: InvoiceDetail }) {
  const { unexplainedBalance, dateChecked } = invoice;
  if (unexplainedBalance !== null) {
    return (
      <p class="unexplained" role="status">
        The address has <strong class="number">{priceText(unexplainedBalance, invoice)}</strong> that no payment of this
        invoice explains. Look at the address before you call the invoice unpaid.
      </p>
    );
  }
  return (
    <p class="small muted">
      {dateChecked === null ? (
        'The balance of the address was not checked yet.'
      ) : (
        <>
          Payments explain the balance of the address, checked <DateTime seconds={dateChecked} />.
        </>
      )}
    </p>
  );
}
