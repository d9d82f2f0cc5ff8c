import type { Database, Queries } from '../database/database.ts';
import { chunks, valuesList } from '../database/sql.ts';
import { tokenTable } from './tables.ts';

/** How many decimals tokens have: asked once and kept, null for a token that does not say. */

const knownColumns = tokenTable.pick(['address', 'decimals']);
const NEW_TOKENS = tokenTable.insertion(['networkId', 'address', 'decimals']);

/** Those that are known. */
export async function readTokens(
  queries: Pick<Queries, 'all'>,
  networkId: number,
  addresses: readonly string[],
): Promise<Map<string, number | null>> {
  const known = new Map<string, number | null>();
  for (const chunk of chunks(addresses)) {
    const rows = await knownColumns.all(
      queries,
      `select ${knownColumns.list} from chain_tokens
       where network_id = $1 and address in ${valuesList(1, chunk.length, 1)}`,
      [networkId, ...chunk],
    );
    for (const { address, decimals } of rows) known.set(address, decimals);
  }
  return known;
}

/** What another instance has learned meanwhile stays as it is. */
export async function saveTokens(
  db: Database,
  networkId: number,
  decimals: ReadonlyMap<string, number | null>,
): Promise<void> {
  const rows = [...decimals].map(([address, value]) => ({ networkId, address, decimals: value }));
  if (rows.length === 0) return;
  await db.transaction(async (queries) => {
    for (const chunk of chunks(rows)) {
      const text = `${NEW_TOKENS.text(chunk.length)} on conflict (network_id, address) do nothing`;
      await queries.run(text, NEW_TOKENS.parameters(chunk));
    }
  });
}
