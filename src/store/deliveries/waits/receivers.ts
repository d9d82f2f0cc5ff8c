import type { DestinationKey } from '../../../domain/post-url.ts';
import type { Queries, SqlUuid } from '../../database/database.ts';
import { Columns, integer, Parameters } from '../../database/sql.ts';
import { headTable } from '../tables.ts';

/** The requests to a destination that are in progress, as the leases of its deliveries tell. */

export type InProgress = {
  readonly requests: number;
  /** When the oldest request was claimed; null if there is none. */
  readonly oldestMs: number | null;
};

/** Limit on the destinations that are read for one response. */
const MAX_DESTINATIONS = 20;
const MAX_HEADS = 20;
/** Rows of a head that are read. Claims take the rows that are due first, so the rows with leases are among them. */
const ROWS_OF_HEAD = 32;

const headColumns = headTable.pick(['webhookNo', 'generation']);
const leaseColumns = new Columns({ requests: integer('count(*)'), oldestMs: integer('coalesce(min(started_ms), 0)') });

type Scope = { readonly queries: Queries; readonly entity: SqlUuid; readonly nowMs: number };

export async function readInProgress(
  scope: Scope,
  destinations: readonly DestinationKey[],
): Promise<Map<DestinationKey, InProgress>> {
  const some = [...new Set(destinations)].slice(0, MAX_DESTINATIONS);
  const leases = some.map(async (destination) => [destination, await readLeases(scope, destination)] as const);
  return new Map(await Promise.all(leases));
}

async function readLeases({ queries, entity, nowMs }: Scope, destination: DestinationKey): Promise<InProgress> {
  const heads = await headColumns.all(
    queries,
    `select ${headColumns.list} from queue_heads where destination = $1 and entity_id = $2 and blocked + 0 = 0
     order by webhook_no limit ${MAX_HEADS}`,
    [destination, entity],
  );
  if (heads.length === 0) return { requests: 0, oldestMs: null };
  const parameters = new Parameters(entity, nowMs);
  // A request started at the end of its lease minus the length of the lease. If the row has no length, the request started at the
  // due time.
  const started = 'case when lease_s > 0 then lease_ms - lease_s * 1000 else due_ms end as started_ms';
  const ofHeads = heads.map(
    ({ webhookNo, generation }, index) => `select started_ms from (
      select lease_ms, ${started} from queue where entity_id = $1 and webhook_no = ${parameters.bind(webhookNo)}
        and generation <= ${parameters.bind(generation)} order by generation, due_ms limit ${ROWS_OF_HEAD}) head${index}
      where lease_ms > $2`,
  );
  const [leases] = await leaseColumns.all(
    queries,
    `select ${leaseColumns.list} from (${ofHeads.join(' union all ')}) leases`,
    parameters.values,
  );
  const requests = leases?.requests ?? 0;
  return { requests, oldestMs: requests === 0 ? null : (leases?.oldestMs ?? null) };
}
