import type { Dialect, Queries } from '../../database/database.ts';
import { entityKey } from '../../database/sql.ts';

type Cell = { readonly entityId: string; readonly networkId: number; readonly event: string };

/** Whether a webhook or a listen session wants events of this kind now. */
export async function isEventWanted(
  queries: Pick<Queries, 'get'>,
  dialect: Dialect,
  { entityId, networkId, event }: Cell,
): Promise<boolean> {
  const registered = await queries.get(
    'select 1 as found from webhook_counts where entity_id = $1 and network_id = $2 and event = $3 and webhooks > 0',
    [entityId, networkId, event],
  );
  if (registered !== undefined) return true;
  const sql = 'select 1 as found from listen_sessions where entity_id = $1 and ended = 0 limit 1';
  return (await queries.get(sql, [entityKey(dialect, entityId)])) !== undefined;
}
