import type { InvoiceList, InvoiceListQuery } from '../../../contract/chain/invoices.ts';
import { storedAddress } from '../../../domain/chain/families/families.ts';
import { readPaymentSearch } from '../../../domain/chain/payment-search.ts';
import { type Database, longReadsOf } from '../../database/database.ts';
import { Parameters } from '../../database/sql.ts';
import { readPage } from '../../list/page.ts';
import { invoiceTable } from '../tables.ts';
import { invoiceRowColumns, toInvoices } from './view.ts';

const COLUMNS = { dateCreated: 'created_at', dateExpires: 'expires_at' } as const;

/** Lists invoices. Their state is computed for the invoices of the page. */
export async function listInvoices(db: Database, entityId: string, query: InvoiceListQuery): Promise<InvoiceList> {
  const { q, networkId, token, address, reference, agreementId, transferId, watch, since, until, sortBy } = query;
  const parameters = new Parameters();
  const where = [
    invoiceTable.where(parameters, {
      ...{ entityId, networkId, reference, agreementId, transferId },
      token: token && storedAddress(token),
      address: address && storedAddress(address),
      dateCreated: { from: since, before: until },
    }),
    ...(watch === undefined ? [] : [`until_block is ${watch === 'on' ? '' : 'not '}null`]),
    ...(q === undefined ? [] : [namedBy(q, entityId, parameters)]),
  ];
  const { totalResults, rows } = await readPage(
    longReadsOf(db, entityId),
    {
      table: 'invoices',
      columns: invoiceRowColumns,
      where: where.join(' and '),
      order: [COLUMNS[sortBy], 'id'],
      parameters: parameters.values,
    },
    query,
  );
  const invoices = await longReadsOf(db, entityId).snapshot((queries) => toInvoices(queries, entityId, rows));
  return { totalResults, invoices };
}

/** The form of the text decides what it names, as in a search for payments. */
function namedBy(text: string, entityId: string, parameters: Parameters): string {
  const search = readPaymentSearch(text);
  if (search.by === 'transaction') {
    return `id in (select invoice_id from facts where entity_id = ${parameters.bind(entityId)}
      and transaction_hash = ${parameters.bind(search.hash)} and invoice_id is not null)`;
  }
  if (search.by === 'address') return `address = ${parameters.bind(search.address)}`;
  if (search.by === 'invoice') return `id = ${parameters.bind(search.invoiceId)}`;
  const id = parameters.bind(text);
  return `(reference = ${id} or transfer_id = ${id} or agreement_id = ${id})`;
}
