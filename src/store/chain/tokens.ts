import { COIN_DECIMALS, NATIVE_TOKEN } from '../../domain/chain/coin.ts';
import type { StatedToken } from '../../domain/chain/tokens.ts';
import type { Database, Queries } from '../database/database.ts';
import { chunks } from '../database/sql.ts';
import { tokenTable } from './tables.ts';

/** The decimals and the symbols that token contracts return. Paybell asks for them once and stores them. */

const knownColumns = tokenTable.pick(['address', 'decimals', 'symbol']);
const NEW_TOKENS = tokenTable.insertion(['networkId', 'address', 'decimals', 'symbol']);

/** Returns the stored tokens among these addresses. */
export async function readTokens(
  queries: Pick<Queries, 'all'>,
  networkId: number,
  addresses: readonly string[],
): Promise<Map<string, StatedToken>> {
  const from = 'from chain_tokens where network_id = $1 and address in';
  const rows = await knownColumns.allIn(queries, from, [networkId], addresses);
  const known = new Map<string, StatedToken>(rows.map(({ address, ...token }) => [address, token]));
  // The network's own coin has no contract that could return them, and no row.
  if (addresses.includes(NATIVE_TOKEN)) known.set(NATIVE_TOKEN, { decimals: COIN_DECIMALS, symbol: null });
  return known;
}

/** Stores tokens. A token that another instance has stored first stays as it is. */
export async function saveTokens(
  db: Database,
  networkId: number,
  tokens: ReadonlyMap<string, StatedToken>,
): Promise<void> {
  const rows = [...tokens].map(([address, token]) => ({ networkId, address, ...token }));
  if (rows.length === 0) return;
  await db.transaction(async (queries) => {
    for (const chunk of chunks(rows)) {
      const text = `${NEW_TOKENS.text(chunk.length)} on conflict (network_id, address) do nothing`;
      await queries.run(text, NEW_TOKENS.parameters(chunk));
    }
  });
}
