import type { Database } from '../../database/database.ts';
import { Columns, chunks, text, valuesList } from '../../database/sql.ts';

/** Invoices whose watch ended before the retention period. An invoice stays while a payment can still be undone. */
const OLD_INVOICES = `invoices i where i.entity_id = $1 and i.until_block is not null and i.watched_until < $2
  and i.created_at < $2
  and not exists (select 1 from facts f where f.entity_id = i.entity_id and f.invoice_id = i.id
    and f.invoice_id is not null and f.state not in ('final', 'retracted'))
  and not exists (select 1 from fact_events e where e.entity_id = i.entity_id and e.fact_id = i.id and e.event_no is null)`;

const oldColumns = new Columns({ invoiceId: text('i.id') });

/** Returns how many it has removed, at most `size`. Their payments are removed after them. */
export function removeOldInvoices(db: Database, entityId: string, beforeS: number, size: number): Promise<number> {
  return db.transaction(async (queries) => {
    const sql = `select ${oldColumns.list} from ${OLD_INVOICES} order by i.created_at limit ${size}`;
    const old = (await oldColumns.all(queries, sql, [entityId, beforeS])).map(({ invoiceId }) => invoiceId);
    for (const chunk of chunks(old)) {
      const list = valuesList(1, chunk.length, 1);
      await queries.run(`delete from fact_events where entity_id = $1 and fact_id in ${list}`, [entityId, ...chunk]);
      await queries.run(`delete from invoices where entity_id = $1 and id in ${list}`, [entityId, ...chunk]);
    }
    return old.length;
  });
}
