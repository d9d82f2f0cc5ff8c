import type { SuspendReason } from '../../../domain/attempt.ts';
import { endpointId } from '../../../domain/ids.ts';
import type { Queries } from '../../database/database.ts';
import { Columns, integer, nullable, text } from '../../database/sql.ts';
import { apiKeyTable, auditTable } from '../../tenants/tables.ts';

/** Finds why deliveries are on hold: the suspension of a webhook, or the person or key that paused an endpoint. */

const suspensionColumns = new Columns({
  webhookId: text('id'),
  dateSince: nullable(integer('suspended_at')),
  reason: nullable(text<SuspendReason>('suspended_reason')),
});

type Suspension = { readonly dateSince: number | null; readonly reason: SuspendReason | null };

/** Maps the suspension of each webhook by the webhook's id. */
export async function readSuspensions(
  queries: Queries,
  entityId: string,
  held: readonly { readonly webhookId: string }[],
): Promise<Map<string, Suspension>> {
  const from = 'from webhooks where entity_id = $1 and id in';
  const ids = held.map(({ webhookId }) => webhookId);
  const rows = await suspensionColumns.allIn(queries, from, [entityId], ids);
  return new Map(rows.map(({ webhookId, ...suspension }) => [webhookId, suspension]));
}

type Pauser = { readonly actor: string | null; readonly actorName: string | null };

/**
 * The clock of the process dates the entry in the audit log, and the clock of the database dates the pause. The two clocks may
 * differ by this much.
 */
const CLOCKS_DIFFER_S = 60;
/** Limit on the endpoints for which the audit log is read. Further endpoints are shown without the person or key that paused them. */
const MAX_ENDPOINTS = 10;
const MAX_ENTRIES = 100;

const ENTRY = auditTable.pick(['actor', 'after']);
const KEY = apiKeyTable.pick(['name']);

/** Who paused an endpoint, by its number: the newest entry of the audit log about the pause, which retention may have removed. */
export async function readPausers(
  queries: Queries,
  entityId: string,
  held: readonly { readonly endpointNo: number; readonly pausedMs: number | null }[],
): Promise<Map<number, Pauser>> {
  const found = new Map<number, Pauser>();
  const pausedS = new Map(held.map(({ endpointNo, pausedMs }) => [endpointNo, Math.floor((pausedMs ?? 0) / 1000)]));
  for (const [no, atS] of [...pausedS].slice(0, MAX_ENDPOINTS)) {
    const entries = await ENTRY.all(
      queries,
      `select ${ENTRY.list} from audit where entity_id = $1 and created_at >= $2 and created_at <= $3 and target = $4
       order by created_at desc, id desc limit ${MAX_ENTRIES}`,
      [entityId, atS - CLOCKS_DIFFER_S, atS + CLOCKS_DIFFER_S, endpointId(no)],
    );
    const actor = entries.find(({ after }) => after?.paused === true)?.actor ?? null;
    const key =
      actor === null
        ? undefined
        : await KEY.get(queries, `select ${KEY.list} from api_keys where entity_id = $1 and id = $2`, [
            entityId,
            actor,
          ]);
    found.set(no, { actor, actorName: key?.name ?? null });
  }
  return found;
}
