import type { Attempt, Delivery, Event } from '../../src/contract/deliveries.ts';
import type { Database, SqlInteger, SqlValue } from '../../src/store/database/database.ts';
import { MIGRATIONS, migrate } from '../../src/store/database/migrate.ts';
import { chunks, valuesList } from '../../src/store/database/sql.ts';
import type { StoredAttempt } from '../../src/store/deliveries/read.ts';

/** A store of schema version 5, from before the queue was parted from the record: written and read in plain SQL. */

export const OLD_MIGRATIONS = MIGRATIONS.filter(({ version }) => version <= 5);

export async function migrateToOld(db: Database): Promise<void> {
  await migrate(db, OLD_MIGRATIONS);
}

type Row = Readonly<Record<string, SqlValue>>;

export async function insertOldRows(db: Database, table: string, rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  await db.transaction(
    async (queries) => {
      for (const chunk of chunks(rows)) {
        await queries.run(
          `insert into ${table} (${columns.join(', ')}) values ${valuesList(chunk.length, columns.length)}`,
          chunk.flatMap((row) => columns.map((column) => row[column] ?? null)),
        );
      }
    },
    { deadlineMs: 600_000 },
  );
}

export function oldEntity(id: string, noticeUrl: string | null = null): Row {
  return { id, name: id, revision: 100, webhooks_dated_at: 1, created_at: 1, notice_url: noticeUrl };
}

export type OldWebhook = {
  entityId: string;
  id: string;
  networkId: number;
  event: string;
  postUrl: string;
  seq: number;
  suspendedAtS?: number;
  failingSinceMs?: number;
};

export function oldWebhookRow(webhook: OldWebhook): Row {
  return {
    entity_id: webhook.entityId,
    id: webhook.id,
    network_id: webhook.networkId,
    event: webhook.event,
    post_url: webhook.postUrl,
    created_seq: webhook.seq,
    created_at: 1,
    suspended_at: webhook.suspendedAtS ?? null,
    suspended_reason: webhook.suspendedAtS === undefined ? null : 'failing',
    failing_since_ms: webhook.failingSinceMs ?? null,
  };
}

/** A delivery as the version before stored it; `dueMs` is the end of the lease while it is claimed. */
export type OldDelivery = {
  entityId: string;
  id: string;
  eventId: string;
  webhookId: string;
  event: string;
  networkId: number;
  postUrl: string;
  status: 'pending' | 'retrying' | 'held' | 'delivered' | 'failed' | 'cancelled';
  attempts: number;
  steps: number;
  dueMs: number | null;
  nextAttemptMs: number | null;
  claimed: number;
  token: number;
  redeliver: number;
  redeliveryId: string | null;
  createdAtMs: number;
  deliveredAtMs: number | null;
  lastStatusCode: number | null;
  lastError: string | null;
};

export function oldDeliveryRow(row: OldDelivery): Row {
  return {
    entity_id: row.entityId,
    id: row.id,
    event_id: row.eventId,
    webhook_id: row.webhookId,
    destination: `${row.entityId} ${new URL(row.postUrl).origin}`,
    status: row.status,
    attempts: row.attempts,
    steps: row.steps,
    due_ms: row.dueMs,
    next_attempt_ms: row.nextAttemptMs,
    claimed: row.claimed,
    claim_token: row.token,
    redeliver: row.redeliver,
    created_at_ms: row.createdAtMs,
    delivered_at_ms: row.deliveredAtMs,
    last_status_code: row.lastStatusCode,
    last_error: row.lastError,
    event: row.event,
    network_id: row.networkId,
    post_url: row.postUrl,
    redelivery_id: row.redeliveryId,
  };
}

/** What the version before showed of a delivery, with the columns that decide what it shows now. */
export type ShownDelivery = Delivery & {
  entityId: string;
  createdAtMs: number;
  nextAttemptMs: number | null;
  body: string;
  redeliver: number;
  dueMs: number | null;
  isClaimed: boolean;
  attemptLog: StoredAttempt[];
};

export type ShownEvent = Event & { entityId: string; createdAtMs: number };

type OldRow = Readonly<Record<string, string | number | null>>;

const numberOrNull = (value: SqlInteger | null | undefined) => (value == null ? null : Number(value));
const secondsOrNull = (value: SqlInteger | null | undefined) =>
  value == null ? null : Math.floor(Number(value) / 1000);
const textOrNull = (value: SqlInteger | null | undefined) => (value == null ? null : String(value));

function kindOf({ webhook_id, event }: OldRow, firstAttempt: OldRow | undefined): Delivery['kind'] {
  if (webhook_id === 'notice' && event === 'webhook.suspended') return 'alert';
  return firstAttempt?.kind === 'test' ? 'test' : 'event';
}

/** In the order of the list: by date, then id. */
export async function readOldDeliveries(db: Database): Promise<ShownDelivery[]> {
  const rows = await db.all<OldRow>(
    `select d.*, (select e.body from events e where e.entity_id = d.entity_id and e.id = d.event_id) as body
     from deliveries d order by d.entity_id, d.created_at_ms, d.id`,
  );
  const attempts = await db.all<OldRow>('select * from attempts order by entity_id, delivery_id, attempt');
  const logs = Map.groupBy(attempts, (row) => `${row.entity_id} ${row.delivery_id}`);
  return rows.map((row) => ({
    entityId: String(row.entity_id),
    deliveryId: String(row.id),
    kind: kindOf(row, logs.get(`${row.entity_id} ${row.id}`)?.[0]),
    eventId: String(row.event_id),
    webhookId: String(row.webhook_id),
    event: String(row.event),
    networkId: Number(row.network_id),
    postUrl: String(row.post_url),
    status: row.status as Delivery['status'],
    attempts: Number(row.attempts),
    dateCreated: Math.floor(Number(row.created_at_ms) / 1000),
    dateNextAttempt: secondsOrNull(row.next_attempt_ms),
    dateDelivered: secondsOrNull(row.delivered_at_ms),
    lastStatusCode: numberOrNull(row.last_status_code),
    lastError: textOrNull(row.last_error),
    endpointId: null,
    sequence: null,
    supersededBy: null,
    retractedBy: null,
    createdAtMs: Number(row.created_at_ms),
    nextAttemptMs: numberOrNull(row.next_attempt_ms),
    body: textOrNull(row.body) ?? '',
    redeliver: Number(row.redeliver),
    dueMs: numberOrNull(row.due_ms),
    isClaimed: Number(row.claimed) === 1,
    attemptLog: (logs.get(`${row.entity_id} ${row.id}`) ?? []).map(toAttempt),
  }));
}

function toAttempt(row: OldRow): StoredAttempt {
  return {
    attempt: Number(row.attempt),
    kind: row.kind as Attempt['kind'],
    postUrl: String(row.post_url),
    startedAtMs: Number(row.started_at_ms),
    durationMs: Number(row.duration_ms),
    statusCode: numberOrNull(row.status_code),
    error: textOrNull(row.error) as Attempt['error'],
    response: textOrNull(row.response),
    responseHeaders: null,
  };
}

export async function readOldEvents(db: Database): Promise<ShownEvent[]> {
  const rows = await db.all<OldRow>('select * from events order by entity_id, created_at_ms, id');
  return rows.map((row) => ({
    entityId: String(row.entity_id),
    eventId: String(row.id),
    event: String(row.event),
    networkId: Number(row.network_id),
    body: String(row.body),
    dateCreated: Math.floor(Number(row.created_at_ms) / 1000),
    deliveries: Number(row.deliveries),
    matched: Number(row.deliveries) > 0,
    retractedBy: null,
    createdAtMs: Number(row.created_at_ms),
  }));
}
