import type { Queries, SqlValue } from '../database/database.ts';
import { chunks, valuesList } from '../database/sql.ts';
import type { AccountProgress } from './network-store.ts';
import { accountTable } from './tables.ts';

/** How far each watched account of a network was read, on networks that are read by account. */

const columns = accountTable.pick([
  'account',
  'wallet',
  'contract',
  'cursorSlot',
  'cursorBalance',
  'untilSignature',
  'lastSignature',
  'sweptAtMs',
]);

/** The types of the columns, in the order of the insertion. */
const TYPES = ['bigint', 'text', 'text', 'text', 'bigint', 'text', 'text', 'text', 'bigint'] as const;

export function readAccounts(queries: Pick<Queries, 'all'>, networkId: number): Promise<AccountProgress[]> {
  return columns.all(queries, `select ${columns.list} from chain_accounts where network_id = $1`, [networkId]);
}

/** Stores the progress of accounts, in the transaction of a step. */
export async function writeAccounts(
  queries: Queries,
  networkId: number,
  accounts: readonly AccountProgress[],
): Promise<void> {
  for (const chunk of chunks(accounts)) {
    await queries.send(
      `insert into chain_accounts
         (network_id, account, wallet, contract, cursor_slot, cursor_balance, until_signature, last_signature, swept_at_ms)
       values ${valuesList(chunk.length, TYPES.length, 0, TYPES)}
       on conflict (network_id, account) do update set cursor_slot = excluded.cursor_slot,
         cursor_balance = excluded.cursor_balance, until_signature = excluded.until_signature,
         last_signature = excluded.last_signature, swept_at_ms = excluded.swept_at_ms`,
      chunk.flatMap((each): SqlValue[] => [
        networkId,
        each.account,
        each.wallet,
        each.contract,
        each.cursorSlot,
        each.cursorBalance,
        each.untilSignature,
        each.lastSignature,
        each.sweptAtMs,
      ]),
    );
  }
}

export async function dropAccounts(queries: Queries, networkId: number, accounts: readonly string[]): Promise<void> {
  for (const chunk of chunks(accounts)) {
    const sql = `delete from chain_accounts where network_id = $1 and account in ${valuesList(1, chunk.length, 1)}`;
    await queries.send(sql, [networkId, ...chunk]);
  }
}
