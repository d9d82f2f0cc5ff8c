import { hasReached } from '../../../domain/chain/invoices/invoice-state.ts';
import { readNowMs } from '../../database/clock.ts';
import type { Database, Queries } from '../../database/database.ts';
import type { RowOf } from '../../database/sql.ts';
import type { DueBalance, ReadBalance } from '../network-store.ts';
import { invoiceTable, networkTable } from '../tables.ts';
import { type InvoiceRow, invoiceColumns, keyOfInvoice, paymentOf, readFactsOfInvoices } from './rows.ts';

/** The least time between two requests that ask a node for the balance of an invoice's address. */
const CHECK_MS = 10_000;

/** Takes the right to ask a node for the balance. Null if another request has asked shortly before, or for an unknown id. */
export function beginCheck(db: Database, entityId: string, invoiceId: string): Promise<InvoiceRow | null> {
  return db.transaction(async (queries) => {
    const nowMs = await readNowMs(queries, db.dialect);
    // A check in the future was stored before the clock was set back.
    const row = await invoiceColumns.get(
      queries,
      `update invoices set checked_at_ms = $3 where entity_id = $1 and id = $2
         and (checked_at_ms is null or checked_at_ms <= $4 or checked_at_ms > $3) returning ${invoiceColumns.list}`,
      [entityId, invoiceId, nowMs, nowMs - CHECK_MS],
    );
    return row ?? null;
  });
}

const levelColumns = networkTable.pick(['head', 'safe', 'final']);
type Network = RowOf<typeof levelColumns>;

/**
 * Stores the part of a balance that no payment explains. Payments that may still return explain a part too, because the balance
 * may come from another branch. At an address that several invoices share, nothing is stored.
 */
async function storeUnexplained(queries: Queries, row: InvoiceRow, balance: bigint): Promise<void> {
  const facts = (await readFactsOfInvoices(queries, [row])).get(keyOfInvoice(row)) ?? [];
  const explained = facts
    .map(paymentOf)
    .filter((payment) => payment.state === 'lost' || payment.isDisputed || hasReached(payment, 'seen', NO_LEVELS))
    .reduce((sum, { base }) => sum + base, 0n);
  const rest = row.match === 'exact' || balance <= explained ? null : (balance - explained).toString();
  await queries.run('update invoices set unexplained = $3 where entity_id = $1 and id = $2', [
    row.entityId,
    row.invoiceId,
    rest,
  ]);
}

export function noteBalance(db: Database, row: InvoiceRow, balance: bigint): Promise<void> {
  return db.transaction((queries) => storeUnexplained(queries, row, balance));
}

/** Levels at which every block has been seen. */
const NO_LEVELS: Network & { readonly head: number } = { head: Number.MAX_SAFE_INTEGER, safe: null, final: null };

/**
 * Invoices in the network's coin that became late. Paybell does not see a payment that a contract made, but the balance shows it.
 * `balance_due` is 1 until a node was asked. If a process dies in between, it stays 1, and the next poll asks again.
 */

/** Balances that one poll asks for. */
const BALANCES_A_POLL = 50;

const dueColumns = invoiceTable.pick(['entityId', 'invoiceId', 'address']);

export function readDueBalances(queries: Pick<Queries, 'all'>, networkId: number): Promise<DueBalance[]> {
  const sql = `select ${dueColumns.list} from invoices where network_id = $1 and balance_due = 1 order by entity_id, id`;
  return dueColumns.all(queries, `${sql} limit ${BALANCES_A_POLL}`, [networkId]);
}

/** Stores the answers of nodes. An answer that another instance has stored first stays. */
export function noteBalances(db: Database, balances: readonly ReadBalance[]): Promise<void> {
  return db.transaction(async (queries) => {
    for (const { entityId, invoiceId, balance } of balances) {
      const row: InvoiceRow | undefined = await invoiceColumns.get(
        queries,
        `update invoices set balance_due = 0,
           checked_at_ms = ${balance === null ? 'checked_at_ms' : db.dialect.nowMs}
         where entity_id = $1 and id = $2 and balance_due = 1 returning ${invoiceColumns.list}`,
        [entityId, invoiceId],
      );
      if (row !== undefined && balance !== null) await storeUnexplained(queries, row, balance);
    }
  });
}
