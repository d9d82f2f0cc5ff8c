import { FAILING_ALERT, RECOVERED_ALERT } from '../../contract/endpoints/alerts.ts';
import { ALERT_AFTER_MS, ALERT_EVERY_MS, SUSPEND_AFTER_MS } from '../../domain/attempt.ts';
import { endpointId } from '../../domain/ids.ts';
import { type DestinationKey, entityOfDestination } from '../../domain/post-url.ts';
import { readNowMs } from '../database/clock.ts';
import type { Database, Dialect, Queries, SqlUuid } from '../database/database.ts';
import { readReachable } from '../database/reachable-shards.ts';
import { Columns, integer, nullable, type RowOf, text, uuid } from '../database/sql.ts';
import { lockNoticeUrl, queueAlert } from '../deliveries/alerts.ts';
import { BLOCKED } from '../deliveries/heads.ts';
import { endpointTable } from '../tables.ts';

/**
 * Alerts before a suspension: after an hour in which all attempts to an endpoint failed, then every day, and once when the
 * endpoint has recovered. A row of `endpoint_alerts` records that the entity was alerted. The transaction that queues an alert
 * changes the row only if the row still has the values that were read. So exactly one instance sends each alert, even after a
 * crash.
 *
 * | the webhook that has failed longest …            | the row                  | alert                |
 * |--------------------------------------------------|--------------------------|----------------------|
 * | has failed for an hour, and there is no row      | is made                  | `endpoint.failing`   |
 * | still fails when `next_ms` has come              | gets the next `next_ms`  | `endpoint.failing`   |
 * | has had a success, and another fails for an hour | names that one           | –                    |
 * | has had a success                                | is removed               | `endpoint.recovered` |
 * | was suspended, resumed, deleted or moved         | names another, or is removed | –                |
 * | is paused                                        | stays                    | –                    |
 */

const HEADS_PER_STEP = 100;
/** An alert names this many webhooks at most. An endpoint can have thousands. */
const WEBHOOKS_SHOWN = 10;

const failingColumns = new Columns({
  entity: uuid('h.entity_id'),
  endpointNo: integer('h.endpoint_no'),
  webhookNo: integer('h.webhook_no'),
  generation: integer('h.generation'),
  failingSinceMs: integer('h.failing_since_ms'),
  webhookId: text('h.webhook_id'),
  networkId: integer('h.network_id'),
  event: text('h.event'),
  postUrl: text('h.post_url'),
  destination: text<DestinationKey>('h.destination'),
});
type FailingHead = RowOf<typeof failingColumns>;

/** Whether the head of a webhook fails. Heads of alerts, which have numbers below zero, and of retractions do not count. */
const isFailing = (sinceMs: string) => `h.failing_since_ms is not null and h.failing_since_ms <= ${sinceMs}
  and h.blocked = 0 and h.webhook_no > 0 and h.event <> 'EventRetracted'`;

/** Returns how many alerts it has queued, which are for at most `HEADS_PER_STEP` webhooks. */
export async function alertFailingEndpoints(db: Database): Promise<number> {
  const nowMs = await readNowMs(db, db.dialect);
  const text = (heads: string, alerts: string, [sinceMs = '', atMs = '']: readonly string[]) =>
    `select ${failingColumns.list} from ${heads} h where ${isFailing(sinceMs)}
       and not exists (select 1 from ${alerts} a
         where a.entity_id = h.entity_id and a.endpoint_no = h.endpoint_no and a.next_ms > ${atMs})
     order by h.failing_since_ms limit ${HEADS_PER_STEP}`;
  const times = [nowMs - ALERT_AFTER_MS, nowMs];
  const heads = await readReachable(
    db,
    (reads) => failingColumns.all(reads, text('queue_heads', 'endpoint_alerts', ['$1', '$2']), times),
    {
      tables: ['queue_heads', 'endpoint_alerts'],
      select: (shard = '', alerts = '') => text(shard, alerts, times.map(String)),
    },
  );
  const seen = new Set<string>();
  for (const head of heads) {
    const key = `${db.dialect.hexOf(head.entity)} ${head.endpointNo}`;
    if (!seen.has(key)) await alertFailing(db, head, nowMs);
    seen.add(key);
  }
  return seen.size;
}

function alertFailing(db: Database, { entity, endpointNo, destination }: FailingHead, nowMs: number): Promise<void> {
  const { dialect } = db;
  return db.transaction(async (queries) => {
    await lockNoticeUrl(queries, entityOfDestination(destination));
    const failing = await readFailing(queries, entity, endpointNo, nowMs);
    const [longest] = failing;
    if (longest === undefined) return;
    const { webhookNo, generation, failingSinceMs } = longest;
    const changed = await queries.run(
      `insert into endpoint_alerts (entity_id, endpoint_no, webhook_no, generation, failing_since_ms, next_ms)
       values ($1, $2, $3, $4, $5, $6) on conflict (entity_id, endpoint_no) do update set next_ms = excluded.next_ms
       where endpoint_alerts.next_ms <= $7`,
      [entity, endpointNo, webhookNo, generation, failingSinceMs, nowMs + ALERT_EVERY_MS, nowMs],
    );
    if (changed === 0) return;
    await queueEndpointAlert(queries, dialect, FAILING_ALERT, longest, {
      webhooks: failing
        .slice(0, WEBHOOKS_SHOWN)
        .map(({ webhookId, networkId, event }) => ({ webhookId, networkId, event })),
      totalWebhooks: failing.length,
      dateFailingSince: toSeconds(failingSinceMs),
      dateSuspension: toSeconds(failingSinceMs + SUSPEND_AFTER_MS),
    });
  });
}

/** The webhooks of the endpoint that have failed for an hour, the longest failing one first. */
function readFailing(queries: Queries, entity: SqlUuid, endpointNo: number, nowMs: number): Promise<FailingHead[]> {
  return failingColumns.all(
    queries,
    `select ${failingColumns.list} from queue_heads h where ${isFailing('$1')} and h.entity_id = $2 and h.endpoint_no = $3
     order by h.failing_since_ms, h.webhook_no`,
    [nowMs - ALERT_AFTER_MS, entity, endpointNo],
  );
}

const alertedColumns = new Columns({
  entity: uuid('a.entity_id'),
  endpointNo: integer('a.endpoint_no'),
  webhookNo: integer('a.webhook_no'),
  generation: integer('a.generation'),
  failingSinceMs: integer('a.failing_since_ms'),
  /** The head's current state. Null if the head is gone. */
  nowEndpointNo: nullable(integer('h.endpoint_no')),
  nowGeneration: nullable(integer('h.generation')),
  blocked: nullable(integer('h.blocked')),
  postUrl: nullable(text('h.post_url')),
  destination: nullable(text<DestinationKey>('h.destination')),
});
type Alerted = RowOf<typeof alertedColumns>;

const OUT_OF_SERVICE = BLOCKED.suspended | BLOCKED.deleted;

/** Returns how many endpoints it has checked; at most `HEADS_PER_STEP`. */
export async function alertRecoveredEndpoints(db: Database): Promise<number> {
  const text = (alerts: string, heads: string) =>
    `select ${alertedColumns.list} from ${alerts} a
       left join ${heads} h on h.entity_id = a.entity_id and h.webhook_no = a.webhook_no
     where h.webhook_no is null or h.endpoint_no <> a.endpoint_no or h.generation <> a.generation
       or (h.blocked & ${OUT_OF_SERVICE}) <> 0
       or h.failing_since_ms is null or h.failing_since_ms <> a.failing_since_ms
     order by a.entity_id, a.endpoint_no limit ${HEADS_PER_STEP}`;
  const changed = await readReachable(
    db,
    (reads) => alertedColumns.all(reads, text('endpoint_alerts', 'queue_heads')),
    {
      tables: ['endpoint_alerts', 'queue_heads'],
      select: (alerts = '', heads = '') => text(alerts, heads),
    },
  );
  for (const alerted of changed) await endAlert(db, alerted);
  return changed.length;
}

function endAlert(db: Database, alerted: Alerted): Promise<void> {
  const { dialect } = db;
  const { entity, endpointNo, webhookNo, failingSinceMs, generation, postUrl, destination } = alerted;
  const unchanged =
    'entity_id = $1 and endpoint_no = $2 and webhook_no = $3 and generation = $4 and failing_since_ms = $5';
  const key = [entity, endpointNo, webhookNo, generation, failingSinceMs];
  return db.transaction(async (queries) => {
    if (destination !== null) await lockNoticeUrl(queries, entityOfDestination(destination));
    const nowMs = await readNowMs(queries, dialect);
    const [other] = await readFailing(queries, entity, endpointNo, nowMs);
    if (other !== undefined) {
      const names = 'webhook_no = $6, generation = $7, failing_since_ms = $8';
      const values = [other.webhookNo, other.generation, other.failingSinceMs];
      await queries.run(`update endpoint_alerts set ${names} where ${unchanged}`, [...key, ...values]);
      return;
    }
    const removed = await queries.run(`delete from endpoint_alerts where ${unchanged}`, key);
    if (removed === 0 || !isInService(alerted) || postUrl === null || destination === null) return;
    await queueEndpointAlert(
      queries,
      dialect,
      RECOVERED_ALERT,
      { entity, endpointNo, postUrl, destination },
      {
        dateFailingSince: toSeconds(failingSinceMs),
        dateRecovered: toSeconds(nowMs),
      },
    );
  });
}

/** If false, the failures ended by a move, a suspension or a deletion, and not by a success. */
function isInService({ endpointNo, generation, nowEndpointNo, nowGeneration, blocked }: Alerted): boolean {
  return nowEndpointNo === endpointNo && nowGeneration === generation && ((blocked ?? 0) & OUT_OF_SERVICE) === 0;
}

const nameColumns = endpointTable.pick(['name']);

async function queueEndpointAlert(
  queries: Queries,
  dialect: Dialect,
  event: string,
  { entity, endpointNo, postUrl, destination }: Pick<FailingHead, 'entity' | 'endpointNo' | 'postUrl' | 'destination'>,
  about: Readonly<Record<string, unknown>>,
): Promise<void> {
  const named = await nameColumns.get(
    queries,
    `select ${nameColumns.list} from endpoints where entity_id = $1 and no = $2`,
    [entity, endpointNo],
  );
  const endpoint = { endpointId: endpointId(endpointNo), postUrl, name: named?.name ?? null };
  // The webhooks of a URL can be for many networks.
  const target = { entityId: entityOfDestination(destination), networkId: 0, event };
  await queueAlert(queries, dialect, target, { endpoint, ...about });
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
