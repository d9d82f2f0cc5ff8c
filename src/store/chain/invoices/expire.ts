import type { Queries } from '../../database/database.ts';
import { networkTable } from '../tables.ts';
import { releaseAddresses } from './release.ts';
import { type InvoiceRow, invoiceColumns } from './rows.ts';

/**
 * Ends invoices by the timestamp of the tip, and never by the clock. So both ends wait on a network that is behind, stalled or
 * halted.
 *
 * | end           | when the timestamp of the tip is later than … | leads to                                              |
 * |---------------|-----------------------------------------------|-------------------------------------------------------|
 * | expiry        | `dateExpires`                                 | `LatePayment`, if too little can have come            |
 * | of the watch  | `dateWatchedUntil`                            | the address leaves the book, and may be used again    |
 */

/** Invoices that end with one step. The next step ends further ones. */
const MAX_ENDED = 200;

/**
 * Whether all blocks up to the tip were read for the address of the invoice. Blocks are unread while the source is paused or was
 * never read, and for addresses that are newer than a poll or a backfill (`addresses/unread.ts`).
 */
const IS_READ = `exists (select 1 from sources s where s.entity_id = invoices.entity_id and s.id = invoices.source_id
  and s.paused_at_ms is null and s.next_block is not null and s.last_block is not null
  and (s.next_block > s.last_block or invoices.book_revision <= s.unread_revision)
  and (invoices.book_revision <= s.book_read or s.book_from > $3))`;

/** Invoices whose expiry has passed with this step. */
export function findPassed(queries: Queries, networkId: number, tip: number, tipS: number): Promise<InvoiceRow[]> {
  return invoiceColumns.all(
    queries,
    `select ${invoiceColumns.list} from invoices
     where network_id = $1 and expires_at < $2 and passed_block is null and until_block is null and ${IS_READ}
     order by expires_at limit ${MAX_ENDED}`,
    [networkId, tipS, tip],
  );
}

const bookColumns = networkTable.pick(['head', 'tipNumber', 'addressRevision', 'addressCount']);

/** Ends the watch of invoices. Their payments in later blocks are payments without an invoice. */
export async function endWatches(queries: Queries, networkId: number, tip: number, tipS: number): Promise<void> {
  const ended = await invoiceColumns.all(
    queries,
    `select ${invoiceColumns.list} from invoices
     where network_id = $1 and watched_until < $2 and until_block is null and passed_block is not null
     order by watched_until limit ${MAX_ENDED}`,
    [networkId, tipS],
  );
  if (ended.length === 0) return;
  for (const { entityId, invoiceId } of ended) {
    await queries.send('update invoices set until_block = $3 where entity_id = $1 and id = $2', [
      entityId,
      invoiceId,
      tip,
    ]);
  }
  const network = await bookColumns.get(queries, `select ${bookColumns.list} from chains where network_id = $1`, [
    networkId,
  ]);
  if (network !== undefined) await releaseAddresses(queries, network, ended);
}
