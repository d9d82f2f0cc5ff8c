import type { Coverage } from '../../contract/webhooks.ts';
import type { Database, SqlInteger } from '../database/database.ts';

type Cell = { network_id: SqlInteger; event: string; total: SqlInteger };

/** Every known network with every known event, and whatever else is registered, each with its counts. */
export async function readCoverage(
  db: Database,
  entityId: string,
  known: { networks: readonly number[]; events: readonly string[] },
): Promise<Coverage> {
  const [registered, suspended] = await db.snapshot(async (queries) => [
    await queries.all<Cell>('select network_id, event, webhooks as total from webhook_counts where entity_id = $1', [
      entityId,
    ]),
    await queries.all<Cell>(
      `select network_id, event, count(*) as total from webhooks
       where entity_id = $1 and suspended_at is not null group by network_id, event`,
      [entityId],
    ),
  ]);
  const webhooksIn = totals(registered);
  const suspendedIn = totals(suspended);
  const networks = new Set([...known.networks, ...registered.map((cell) => Number(cell.network_id))]);
  const events = new Set([...known.events, ...registered.map((cell) => cell.event)]);
  return {
    networks: [...networks]
      .sort((a, b) => a - b)
      .map((networkId) => ({
        networkId,
        events: [...events].map((event) => ({
          event,
          webhooks: webhooksIn.get(`${networkId} ${event}`) ?? 0,
          suspended: suspendedIn.get(`${networkId} ${event}`) ?? 0,
        })),
      })),
  };
}

function totals(cells: readonly Cell[]): Map<string, number> {
  return new Map(cells.map(({ network_id, event, total }) => [`${network_id} ${event}`, Number(total)]));
}
