import { connect, type PostgresTarget } from '../postgres/session.ts';
import type { WorkerName } from './shard-map.ts';

/** How long the coordinator tries to connect. A worker that is busy takes tens of milliseconds. */
const CONNECT_MS = 1_500;

/**
 * Lets the coordinator open a new connection to the worker and ask it something. A worker that hangs fails at the connection, which
 * the coordinator can give up. A statement on an open connection would keep its server process until the worker is back.
 */
export async function probeWorker(target: PostgresTarget, worker: WorkerName): Promise<boolean | null> {
  const port = worker.lastIndexOf(':');
  const client = connect(target);
  try {
    return await client.begin(async (queries) => {
      await queries.unsafe(
        `set local citus.node_connection_timeout = ${CONNECT_MS}; set local citus.max_cached_conns_per_worker = 0;
         set local statement_timeout = ${2 * CONNECT_MS}; set local client_min_messages = error`,
      );
      const [row] = await queries.unsafe('select citus_check_connection_to_node($1, $2) as responds', [
        worker.slice(0, port),
        Number(worker.slice(port + 1)),
      ]);
      return row?.responds === true;
    });
  } catch {
    return null;
  } finally {
    await client.close({ timeout: 0 }).catch(() => undefined);
  }
}
