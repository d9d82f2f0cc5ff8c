import {
  type Attempt,
  type Delivery,
  type DeliveryDetail,
  type DeliveryFilter,
  type DeliveryListQuery,
  MAX_ATTEMPTS_SHOWN,
} from '../../contract/deliveries.ts';
import { hexOfId } from '../../domain/ids.ts';
import { readNowMs } from '../database/clock.ts';
import type { Database, Dialect, Queries, SqlInteger, SqlUuid } from '../database/database.ts';
import { entityKey } from '../database/sql.ts';
import { countScope } from './list/count.ts';
import { readPageRows } from './list/page.ts';
import { type DeliveryRow, eventNoOf, QUEUE_COLUMNS, RECORD_COLUMNS, toDeliveries } from './list/rows.ts';
import { resolveScope } from './list/scope.ts';

/** Reading where deliveries stand: lists with exact totals, and one delivery with its attempts. */

export function listDeliveries(
  db: Database,
  entityId: string,
  query: DeliveryListQuery,
): Promise<{ totalResults: number; deliveries: Delivery[] }> {
  return db.longReads.snapshot(async (queries) => {
    const nowMs = await startRead(queries, db.dialect);
    const scope = await resolveScope(queries, db.dialect, entityId, query);
    const totalResults = scope === null ? 0 : await countScope(queries, db.dialect, scope);
    if (scope === null || (query.page - 1) * query.limit >= totalResults) return { totalResults, deliveries: [] };
    const rows = await readPageRows(queries, db.dialect, scope, query, totalResults);
    return { totalResults, deliveries: await toDeliveries(queries, db.dialect, scope.entity, rows, nowMs) };
  });
}

export function countDeliveries(db: Database, entityId: string, filter: DeliveryFilter): Promise<number> {
  return db.longReads.snapshot((queries) => countIn(queries, db.dialect, entityId, filter));
}

/** As part of a transaction. */
export async function countIn(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  filter: DeliveryFilter,
): Promise<number> {
  await startRead(queries, dialect);
  const scope = await resolveScope(queries, dialect, entityId, filter);
  return scope === null ? 0 : countScope(queries, dialect, scope);
}

/** Lists go along indexes, whatever the statistics say, like claims do. */
async function startRead(queries: Queries, dialect: Dialect): Promise<number> {
  const row = await queries.get<{ now_ms: SqlInteger }>(dialect.planForClaims);
  return Number(row?.now_ms ?? 0);
}

type OnlyAttempt = {
  started_at_ms: SqlInteger | null;
  duration_ms: SqlInteger | null;
  test: SqlInteger | null;
  response: string | null;
};

export function readDelivery(db: Database, entityId: string, deliveryId: string): Promise<DeliveryDetail | null> {
  const { dialect } = db;
  const hex = hexOfId('dlv', deliveryId);
  if (hex === null) return Promise.resolve(null);
  return db.snapshot(async (queries) => {
    const entity = entityKey(dialect, entityId);
    const key = [entity, dialect.bindUuid(hex)];
    const where = 'entity_id = $1 and id = $2';
    const row =
      (await queries.get<DeliveryRow & OnlyAttempt>(
        `select ${RECORD_COLUMNS}, d.started_at_ms, d.duration_ms, d.test, d.response from deliveries d where ${where}`,
        key,
      )) ?? (await queries.get<DeliveryRow>(`select ${QUEUE_COLUMNS} from queue q where ${where}`, key));
    if (row === undefined) return null;
    const [view] = await toDeliveries(queries, dialect, entity, [row], await readNowMs(queries, dialect));
    if (view === undefined) return null;
    const event = await queries.get<{ body: string }>('select body from events where entity_id = $1 and no = $2', [
      entity,
      dialect.bindUuid(eventNoOf(dialect, row)),
    ]);
    const only = onlyAttempt(row, view);
    const attemptLog = only === null ? await readAttempts(queries, key) : [only];
    return { ...view, body: event?.body ?? '', attemptLog };
  });
}

/** The record of a delivery with one attempt carries it. */
function onlyAttempt(row: DeliveryRow & Partial<OnlyAttempt>, view: Delivery): Attempt | null {
  if (row.started_at_ms === undefined || row.started_at_ms === null) return null;
  return {
    attempt: 1,
    kind: row.test === null || row.test === undefined ? 'first' : 'test',
    postUrl: view.postUrl,
    startedAtMs: Number(row.started_at_ms),
    durationMs: Number(row.duration_ms ?? 0),
    statusCode: view.lastStatusCode,
    error: view.lastError as Attempt['error'],
    response: row.response ?? null,
  };
}

type AttemptRow = {
  attempt: SqlInteger;
  kind: Attempt['kind'];
  post_url: string;
  started_at_ms: SqlInteger;
  duration_ms: SqlInteger;
  status_code: SqlInteger | null;
  error: Attempt['error'];
  response: string | null;
};

async function readAttempts(queries: Queries, key: readonly SqlUuid[]): Promise<Attempt[]> {
  const rows = await queries.all<AttemptRow>(
    `select attempt, kind, post_url, started_at_ms, duration_ms, status_code, error, response from attempts
     where entity_id = $1 and delivery_id = $2 order by attempt desc limit ${MAX_ATTEMPTS_SHOWN}`,
    key,
  );
  return rows.reverse().map((row) => ({
    attempt: Number(row.attempt),
    kind: row.kind,
    postUrl: row.post_url,
    startedAtMs: Number(row.started_at_ms),
    durationMs: Number(row.duration_ms),
    statusCode: row.status_code === null ? null : Number(row.status_code),
    error: row.error,
    response: row.response,
  }));
}
