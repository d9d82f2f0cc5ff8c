import { type Invoice, type InvoiceDetail, MAX_INVOICE_PAYMENTS } from '../../../contract/chain/invoices.ts';
import { NATIVE_TOKEN } from '../../../domain/chain/coin.ts';
import { caip2 } from '../../../domain/chain/families/families.ts';
import { formatAmount } from '../../../domain/chain/invoices/amounts.ts';
import { foldInvoice, hasReached, type InvoicePayment } from '../../../domain/chain/invoices/invoice-state.ts';
import { listedSymbol, type StatedToken } from '../../../domain/chain/tokens.ts';
import type { Database, Queries } from '../../database/database.ts';
import { Columns, nullable, type RowOf, seconds } from '../../database/sql.ts';
import { type NetworkLevels, readNetworkLevels } from '../payments/levels.ts';
import { paymentRowColumns, toPayments } from '../payments/view.ts';
import { factTable, invoiceTable } from '../tables.ts';
import { readTokens } from '../tokens.ts';
import { fateOf, paymentOf, termsOf } from './rows.ts';

/** Invoices as the API shows them. The state is computed from the payments at each reading. */

export const invoiceRowColumns = new Columns({
  ...invoiceTable.shape,
  dateChecked: nullable(seconds('checked_at_ms')),
});
export type ShownRow = RowOf<typeof invoiceRowColumns>;

const paymentColumns = factTable.pick([
  'invoiceId',
  'invoiceBase',
  'state',
  'isDisputed',
  'blockNumber',
  'logIndex',
  'blockS',
]);

/** Converts rows of one entity. */
export async function toInvoices(queries: Queries, entityId: string, rows: readonly ShownRow[]): Promise<Invoice[]> {
  if (rows.length === 0) return [];
  const networks = await readNetworkLevels(queries);
  const payments = await readPayments(queries, entityId, rows);
  const stated = new Map<number, ReadonlyMap<string, StatedToken>>();
  for (const [networkId, own] of Map.groupBy(rows, (row) => row.networkId)) {
    stated.set(networkId, await readTokens(queries, networkId, [...new Set(own.map(({ token }) => token))]));
  }
  return rows.map((row) =>
    toInvoice(row, (payments.get(row.invoiceId) ?? []).map(paymentOf), {
      network: networks.get(row.networkId) ?? null,
      stated: stated.get(row.networkId)?.get(row.token) ?? null,
    }),
  );
}

async function readPayments(
  queries: Queries,
  entityId: string,
  rows: readonly ShownRow[],
): Promise<ReadonlyMap<string, readonly RowOf<typeof paymentColumns>[]>> {
  const from = 'from facts where entity_id = $1 and invoice_id is not null and invoice_id in';
  const keys = rows.map(({ invoiceId }) => invoiceId);
  const facts = await paymentColumns.allIn(queries, from, [entityId], keys, 'and is_dust = 0');
  return Map.groupBy(facts, ({ invoiceId }) => invoiceId ?? '');
}

type Context = { readonly network: NetworkLevels | null; readonly stated: StatedToken | null };

function toInvoice(row: ShownRow, payments: readonly InvoicePayment[], { network, stated }: Context): Invoice {
  const levels = network?.levels ?? { head: 0, safe: null, final: null };
  // The state of a payment is known without the head, because confirmations play no part here.
  const standing = payments.filter(({ state, isDisputed }) => !isDisputed && (state === 'seen' || state === 'final'));
  const folded = foldInvoice(termsOf(row), fateOf(row), standing);
  const final = standing.filter((payment) => hasReached(payment, 'final', levels));
  const { networkId, token, decimals } = row;
  const listed = listedSymbol(networkId, token);
  const amountOf = (base: bigint) => formatAmount(base, decimals);
  return {
    invoiceId: row.invoiceId,
    networkId,
    network: caip2(networkId),
    token: row.shownToken,
    symbol: listed ?? stated?.symbol ?? null,
    decimals,
    isListed: listed !== null || token === NATIVE_TOKEN,
    address: row.shownAddress,
    amount: row.amount,
    tolerancePercent: row.tolerance / 100,
    match: row.match,
    dateExpires: row.dateExpires,
    watchDays: row.watchDays,
    agreementId: row.agreementId,
    transferId: row.transferId,
    reference: row.reference,
    metadata: row.metadata === null ? {} : (JSON.parse(row.metadata) as Record<string, string>),
    state: folded.state,
    isFinal: folded.isFinal,
    isLate: folded.isLate,
    received: amountOf(folded.received),
    receivedFinal: amountOf(final.reduce((sum, { base }) => sum + base, 0n)),
    due: amountOf(folded.due),
    paymentCount: payments.filter(({ state }) => state !== 'retracted').length,
    unexplainedBalance: row.unexplained === null ? null : amountOf(BigInt(row.unexplained)),
    dateChecked: row.dateChecked,
    fromBlock: row.fromBlock,
    untilBlock: row.untilBlock,
    dateWatchedUntil: row.dateWatchedUntil,
    dateCancelled: row.dateCancelled,
    dateCreated: row.dateCreated,
  };
}

/** Null for an unknown id, and for the id of another entity. */
export function readInvoice(db: Database, entityId: string, invoiceId: string): Promise<InvoiceDetail | null> {
  return db.snapshot(async (queries) => {
    const row = await invoiceRowColumns.get(
      queries,
      `select ${invoiceRowColumns.list} from invoices where entity_id = $1 and id = $2`,
      [entityId, invoiceId],
    );
    if (row === undefined) return null;
    const [invoice] = await toInvoices(queries, entityId, [row]);
    if (invoice === undefined) return null;
    const facts = await paymentRowColumns.all(
      queries,
      `select ${paymentRowColumns.list} from facts where entity_id = $1 and invoice_id = $2 and invoice_id is not null
       order by created_at_ms desc, id desc limit ${MAX_INVOICE_PAYMENTS}`,
      [entityId, invoiceId],
    );
    const networks = await readNetworkLevels(queries);
    return { ...invoice, payments: await toPayments(queries, db.dialect, entityId, facts, networks) };
  }, entityId);
}
