import { isUnpaid } from '../../../domain/chain/invoices/invoice-state.ts';
import { DomainError } from '../../../domain/errors.ts';
import type { Database } from '../../database/database.ts';
import { type Change, recordChange } from '../../tenants/audit.ts';
import { networkTable } from '../tables.ts';
import { dropEmptyBooks } from './book.ts';
import { releaseAddresses } from './release.ts';
import { type InvoiceRow, invoiceColumns, keyOfInvoice, paymentOf, readFactsOfInvoices, termsOf } from './rows.ts';

const networkColumns = networkTable.pick(['head', 'tipNumber', 'addressRevision', 'addressCount']);

/**
 * Cancels an invoice that is not paid. Payments that Paybell has stored stay with the invoice, and later payments have no
 * invoice. Returns false for an unknown id, and for the id of another entity. A cancelled invoice stays as it is.
 */
export function cancelInvoice(db: Database, entityId: string, invoiceId: string, change: Change): Promise<boolean> {
  const { lockRow } = db.dialect;
  return db.transaction(async (queries) => {
    const read = () =>
      invoiceColumns.get(queries, `select ${invoiceColumns.list} from invoices where entity_id = $1 and id = $2`, [
        entityId,
        invoiceId,
      ]);
    const found = await read();
    if (found === undefined) return false;
    // A step of the network locks this row too, so that no payment can be stored between the check and the cancellation.
    const network = await networkColumns.get(
      queries,
      `select ${networkColumns.list} from chains where network_id = $1 ${lockRow}`,
      [found.networkId],
    );
    await queries.get(`select id from entities where id = $1 ${lockRow}`, [entityId]);
    const row: InvoiceRow | undefined = await read();
    if (row === undefined || network === undefined) return false;
    if (row.dateCancelled !== null) return true;
    const facts = (await readFactsOfInvoices(queries, [row])).get(keyOfInvoice(row)) ?? [];
    if (!isUnpaid(termsOf(row), facts.map(paymentOf))) throw new DomainError('invoice_paid', { invoiceId });
    const untilBlock = row.untilBlock ?? network.tipNumber ?? row.fromBlock - 1;
    await queries.run('update invoices set cancelled_at = $3, until_block = $4 where entity_id = $1 and id = $2', [
      entityId,
      invoiceId,
      change.nowS,
      untilBlock,
    ]);
    await releaseAddresses(queries, network, [row]);
    await dropEmptyBooks(queries, row.networkId);
    await recordChange(queries, entityId, change, {
      action: 'invoice.cancelled',
      target: invoiceId,
      before: { dateCancelled: null },
      after: { dateCancelled: change.nowS },
    });
    return true;
  });
}
