import type { Dialect, Queries } from '../../database/database.ts';
import type { Columns, Shape, Values } from '../../database/sql.ts';

/** Locks the network, then the entity, as every change of a source does. Makes the row of a new network. */
export async function lockNetwork<S extends Shape>(
  queries: Queries,
  { lockRow }: Dialect,
  networkId: number,
  entityId: string,
  columns: Columns<S>,
): Promise<Values<S> | undefined> {
  await queries.run('insert into chains (network_id) values ($1) on conflict (network_id) do nothing', [networkId]);
  const sql = `select ${columns.list} from chains where network_id = $1 ${lockRow}`;
  const network = await columns.get(queries, sql, [networkId]);
  await queries.get(`select id from entities where id = $1 ${lockRow}`, [entityId]);
  return network;
}
