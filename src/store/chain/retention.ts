import type { Database, Queries, SqlValue } from '../database/database.ts';
import { Columns, chunks, readInteger, text, valuesList } from '../database/sql.ts';
import { IS_COUNTED_ON } from './counted-on.ts';

/**
 * Whether a source of the same contract will read the fact's block again: a block after its pause, or a block that it has not
 * reached since then. Without the fact, Paybell would publish the payment a second time.
 */
const IS_READ_AGAIN = `exists (select 1 from sources s
  where s.entity_id = f.entity_id and s.network_id = f.network_id and s.contract = f.contract
    and (f.block_number > s.paused_block
      or f.block_number >= s.next_block and (s.last_block is null or s.next_block <= s.last_block)))`;

/** Whether the payment is above the cursor of its account. Every new process lists such transactions again. */
const IS_LISTED_AGAIN = `exists (select 1 from chain_accounts a
  where a.network_id = f.network_id and a.wallet = f.payee and a.contract = f.contract and f.block_number > a.cursor_slot)`;

/**
 * Facts that are final or retracted, and older than the retention period. The newest final fact of each network stays, as do all
 * facts from its block on. Without it, Paybell would read a network whose progress is lost from the beginning, and publish its
 * payments again. A fact whose confirmations a webhook still counts stays too. The fact of a held event whose transaction failed
 * has no block, and can be removed.
 *
 * The fact of a held event that still waits is removed with its event. A payment of an invoice stays as long as the invoice,
 * because the state of the invoice follows from its payments.
 */
const OLD_FACTS = `facts f where f.entity_id = $1 and f.created_at_ms < $2
  and (f.state in ('final', 'retracted') and f.changed_at_ms < $2
      and (f.block_number is null or f.block_number < (select max(n.block_number) from facts n
        where n.network_id = f.network_id and n.state = 'final'))
    or f.state = 'waiting' and f.event_no < $3)
  and not ${IS_COUNTED_ON}
  and not ${IS_READ_AGAIN}
  and not ${IS_LISTED_AGAIN}
  and (f.invoice_id is null or not exists (select 1 from invoices i
    where i.entity_id = f.entity_id and i.id = f.invoice_id))
  and not exists (select 1 from fact_events e
    where e.entity_id = f.entity_id and e.fact_id = f.id and e.event_no is null)`;

const oldColumns = new Columns({ factId: text('f.id') });

/** If the database is partitioned by day, events stay until the end of their day. */
export type FactAge = { readonly beforeMs: number; readonly eventsBeforeHex: string };

function ageOf({ dialect }: Database, entityId: string, { beforeMs, eventsBeforeHex }: FactAge): SqlValue[] {
  return [entityId, beforeMs, dialect.bindUuid(eventsBeforeHex)];
}

export function countOldFacts(db: Database, entityId: string, age: FactAge): Promise<number> {
  return readInteger(db, 'count(*)', `from ${OLD_FACTS}`, ageOf(db, entityId, age));
}

/** Returns how many it has removed, at most `size`. */
export function removeOldFacts(db: Database, entityId: string, age: FactAge, size: number): Promise<number> {
  return db.transaction(async (queries) => {
    const sql = `select ${oldColumns.list} from ${OLD_FACTS} order by f.created_at_ms limit ${size}`;
    const facts = await oldColumns.all(queries, sql, ageOf(db, entityId, age));
    for (const chunk of chunks(facts.map(({ factId }) => factId))) await removeFacts(queries, entityId, chunk);
    return facts.length;
  });
}

async function removeFacts(queries: Queries, entityId: string, factIds: readonly string[]): Promise<void> {
  const list = valuesList(1, factIds.length, 1);
  const parameters: SqlValue[] = [entityId, ...factIds];
  await queries.run(`delete from fact_events where entity_id = $1 and fact_id in ${list}`, parameters);
  await queries.run(`delete from facts where entity_id = $1 and id in ${list}`, parameters);
}
