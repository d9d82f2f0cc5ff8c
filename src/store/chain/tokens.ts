import { COIN_DECIMALS, NATIVE_TOKEN } from '../../domain/chain/coin.ts';
import type { StatedToken } from '../../domain/chain/tokens.ts';
import type { Database, Queries } from '../database/database.ts';
import { chunks } from '../database/sql.ts';
import { tokenTable } from './tables.ts';

/** The statements of tokens about themselves: asked once and kept. */

const knownColumns = tokenTable.pick(['address', 'decimals', 'symbol']);
const NEW_TOKENS = tokenTable.insertion(['networkId', 'address', 'decimals', 'symbol']);

/** The tokens of the list that are known. */
export async function readTokens(
  queries: Pick<Queries, 'all'>,
  networkId: number,
  addresses: readonly string[],
): Promise<Map<string, StatedToken>> {
  const from = 'from chain_tokens where network_id = $1 and address in';
  const rows = await knownColumns.allIn(queries, from, [networkId], addresses);
  const known = new Map<string, StatedToken>(rows.map(({ address, ...token }) => [address, token]));
  // A coin states nothing, and no row has it.
  if (addresses.includes(NATIVE_TOKEN)) known.set(NATIVE_TOKEN, { decimals: COIN_DECIMALS, symbol: null });
  return known;
}

/** Keeps a token that another instance has stored since as it is. */
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
