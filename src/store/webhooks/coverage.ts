import type { Coverage } from '../../contract/webhooks.ts';
import { type Database, longReadsOf } from '../database/database.ts';
import { Columns, integer, type RowOf, text } from '../database/sql.ts';

const CELL = new Columns({ networkId: integer('network_id'), event: text('event'), total: integer() });

/** The counts of every known network with every known event, and of all other pairs that have webhooks. */
export async function readCoverage(
  db: Database,
  entityId: string,
  known: { networks: readonly number[]; events: readonly string[] },
): Promise<Coverage> {
  const [registered, suspended, ownFinality] = await longReadsOf(db, entityId).snapshot(async (queries) => [
    await CELL.all(queries, `select ${CELL.list}, webhooks as total from webhook_counts where entity_id = $1`, [
      entityId,
    ]),
    await CELL.all(
      queries,
      `select ${CELL.list}, count(*) as total from webhooks
       where entity_id = $1 and suspended_at is not null group by network_id, event`,
      [entityId],
    ),
    await CELL.all(
      queries,
      `select ${CELL.list}, count(*) as total from webhooks
       where entity_id = $1 and finality is not null group by network_id, event`,
      [entityId],
    ),
  ]);
  const webhooksIn = totals(registered);
  const suspendedIn = totals(suspended);
  const ownFinalityIn = totals(ownFinality);
  const networks = new Set([...known.networks, ...registered.map(({ networkId }) => networkId)]);
  const events = new Set([...known.events, ...registered.map(({ event }) => event)]);
  return {
    networks: [...networks]
      .sort((a, b) => a - b)
      .map((networkId) => ({
        networkId,
        events: [...events].map((event) => ({
          event,
          webhooks: webhooksIn.get(`${networkId} ${event}`) ?? 0,
          suspended: suspendedIn.get(`${networkId} ${event}`) ?? 0,
          ownFinality: ownFinalityIn.get(`${networkId} ${event}`) ?? 0,
        })),
      })),
  };
}

function totals(cells: readonly RowOf<typeof CELL>[]): Map<string, number> {
  return new Map(cells.map(({ networkId, event, total }) => [`${networkId} ${event}`, total]));
}
