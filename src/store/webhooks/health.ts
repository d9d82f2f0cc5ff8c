import type { WebhookHealth } from '../../contract/webhook-health.ts';
import type { Database, Queries } from '../database/database.ts';
import { Columns, chunks, integer, nullable, seconds, text, valuesList } from '../database/sql.ts';

/** A webhook's results in one process since its last report. */
export type HealthReport = {
  entityId: string;
  webhookId: string;
  /** Failures since the last success in the report, or since the beginning of the report if there was none. */
  failuresInARow: number;
  lastSuccessMs: number | null;
  lastFailureMs: number | null;
};

const REPORT_TYPES = ['text', 'text', 'bigint', 'bigint', 'bigint'];

const later = (column: string) =>
  `case when excluded.${column} is null or webhook_health.${column} > excluded.${column}
     then webhook_health.${column} else excluded.${column} end`;

/**
 * Adds reports to the stored values. The reports of two instances overlap and arrive in any order. So a date never decreases, and
 * failures before a success of the other report do not count. A deleted webhook gets no row.
 */
export async function recordHealth(db: Database, reports: readonly HealthReport[]): Promise<void> {
  // Sorted, so that two instances which report on the same webhooks lock the rows in the same order.
  const sorted = [...reports].sort((a, b) =>
    `${a.entityId} ${a.webhookId}` < `${b.entityId} ${b.webhookId}` ? -1 : 1,
  );
  for (const chunk of chunks(sorted)) {
    await db.transaction((queries) =>
      queries.run(
        `with reports (entity_id, webhook_id, failures_in_a_row, last_success_ms, last_failure_ms) as
           (values ${valuesList(chunk.length, 5, 0, REPORT_TYPES)})
         insert into webhook_health (entity_id, webhook_id, failures_in_a_row, last_success_ms, last_failure_ms)
         select r.entity_id, r.webhook_id, r.failures_in_a_row, r.last_success_ms, r.last_failure_ms from reports r
         where exists (select 1 from webhooks w where w.entity_id = r.entity_id and w.id = r.webhook_id)
         on conflict (entity_id, webhook_id) do update set
           failures_in_a_row =
             case when webhook_health.last_success_ms > excluded.last_failure_ms then 0
                  else excluded.failures_in_a_row end
             + case when excluded.last_success_ms >= webhook_health.last_failure_ms then 0
                    else webhook_health.failures_in_a_row end,
           last_success_ms = ${later('last_success_ms')},
           last_failure_ms = ${later('last_failure_ms')}`,
        chunk.flatMap((report) => [
          report.entityId,
          report.webhookId,
          report.failuresInARow,
          report.lastSuccessMs,
          report.lastFailureMs,
        ]),
      ),
    );
  }
}

/** Resets the failures of a resumed webhook. */
export async function forgetFailures(queries: Queries, entityId: string, webhookId: string): Promise<void> {
  await queries.run('update webhook_health set failures_in_a_row = 0 where entity_id = $1 and webhook_id = $2', [
    entityId,
    webhookId,
  ]);
}

const HEALTH = new Columns({
  reason: nullable(text<NonNullable<WebhookHealth['reason']>>('w.suspended_reason')),
  failuresInARow: nullable(integer('h.failures_in_a_row')),
  dateLastSuccess: nullable(seconds('h.last_success_ms')),
  dateLastFailure: nullable(seconds('h.last_failure_ms')),
});

export async function readHealth(db: Database, entityId: string, webhookId: string): Promise<WebhookHealth | null> {
  const row = await HEALTH.get(
    db,
    `select ${HEALTH.list}
     from webhooks w left join webhook_health h on h.entity_id = w.entity_id and h.webhook_id = w.id
     where w.entity_id = $1 and w.id = $2`,
    [entityId, webhookId],
  );
  if (row === undefined) return null;
  const { reason, failuresInARow, dateLastSuccess, dateLastFailure } = row;
  const state = reason === null ? 'active' : 'suspended';
  return { webhookId, state, reason, failuresInARow: failuresInARow ?? 0, dateLastSuccess, dateLastFailure };
}
