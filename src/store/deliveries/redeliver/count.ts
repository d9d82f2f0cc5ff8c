import type { DeliveryFilter } from '../../../contract/deliveries/redelivery.ts';
import { type Database, type Dialect, longReadsOf, type Queries } from '../../database/database.ts';
import { Columns, chunks, integer, Parameters, planForClaims } from '../../database/sql.ts';
import { countScope } from '../list/count.ts';
import { resolveScope, type Scope } from '../list/scope.ts';
import { FEW_WEBHOOKS, testSources, textWithin } from '../list/sources.ts';
import { STATUS_CODES } from '../states.ts';
import { headTable } from '../tables.ts';

/**
 * How many deliveries a bulk redelivery would send again: all matches except alerts and test requests. The counters do not tell
 * these apart, so alerts and test requests are counted separately and subtracted from the total.
 */
export function countRedelivering(db: Database, entityId: string, filter: DeliveryFilter): Promise<number> {
  return longReadsOf(db, entityId).snapshot((queries) => countRedeliveringIn(queries, db.dialect, entityId, filter));
}

/** Does the same within a transaction. */
export async function countRedeliveringIn(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  filter: DeliveryFilter,
): Promise<number> {
  await planForClaims(queries, dialect);
  const scope = await resolveScope(queries, dialect, entityId, filter);
  if (scope === null) return 0;
  const all = await countScope(scope);
  return all === 0 ? 0 : all - (await countAlerts(scope)) - (await countTests(scope));
}

const alertColumns = headTable.pick(['webhookNo']);

async function countAlerts(scope: Scope): Promise<number> {
  const alerts =
    scope.webhooks?.filter(({ webhookNo }) => webhookNo < 0) ??
    (await alertColumns.all(
      scope.queries,
      `select ${alertColumns.list} from queue_heads where entity_id = $1 and webhook_no < 0`,
      [scope.entity],
    ));
  let total = 0;
  for (const webhooks of chunks(alerts, FEW_WEBHOOKS)) {
    const named = new Set(webhooks.map(({ webhookNo }) => webhookNo));
    const waiting = scope.waiting.filter(({ webhookNo }) => named.has(webhookNo));
    total += await countScope({ ...scope, webhooks, waiting });
  }
  return total;
}

const testColumns = new Columns({ webhookNo: integer(), status: integer(), total: integer() });

async function countTests(scope: Scope): Promise<number> {
  const { queries, status, webhooks } = scope;
  const code = status === null || !(status in STATUS_CODES) ? null : STATUS_CODES[status as keyof typeof STATUS_CODES];
  if (status !== null && code === null) return 0;
  const named = webhooks === null ? null : new Set(webhooks.map(({ webhookNo }) => webhookNo));
  let total = 0;
  for (const source of testSources(scope)) {
    const parameters = new Parameters();
    const [no, state] = source.table === 'deliveries' ? ['d.webhook_no', 'd.status'] : ['q.webhook_no', 'q.recorded'];
    const rows = await testColumns.all(
      queries,
      `select ${no} as "webhookNo", ${state} as status, count(*) as total ${textWithin(source, parameters)}
       group by ${no}, ${state}`,
      parameters.values,
    );
    for (const row of rows) {
      if ((code === null || row.status === code) && (named === null || named.has(row.webhookNo))) total += row.total;
    }
  }
  return total;
}
