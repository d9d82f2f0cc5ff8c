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
import type { Database, Dialect, Queries, SqlUuid } from '../database/database.ts';
import { Columns, entityKey, integer, nullable, planForClaims, type RowOf, text } from '../database/sql.ts';
import { readTruth } from '../events/read.ts';
import { countScope } from './list/count.ts';
import { readPageRows } from './list/page.ts';
import { deliveryColumns, eventNoOf, IN_QUEUE, IN_RECORD, toDeliveries } from './list/rows.ts';
import { resolveScope } from './list/scope.ts';

/** Reading where deliveries stand: lists with exact totals, and one delivery with its attempts. */

export function listDeliveries(
  db: Database,
  entityId: string,
  query: DeliveryListQuery,
): Promise<{ totalResults: number; deliveries: Delivery[] }> {
  return db.longReads.snapshot(async (queries) => {
    const nowMs = await planForClaims(queries, db.dialect);
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
  await planForClaims(queries, dialect);
  const scope = await resolveScope(queries, dialect, entityId, filter);
  return scope === null ? 0 : countScope(queries, dialect, scope);
}

/** The record of a delivery with one attempt carries it. */
const recordedColumns = new Columns({
  ...deliveryColumns.shape,
  startedAtMs: nullable(integer('started_at_ms')),
  durationMs: nullable(integer('duration_ms')),
  test: nullable(integer('test')),
  response: nullable(text('response')),
});
type Recorded = RowOf<typeof recordedColumns>;
const ONLY_ATTEMPT =
  'd.started_at_ms as "startedAtMs", d.duration_ms as "durationMs", d.test as test, d.response as response';

export function readDelivery(db: Database, entityId: string, deliveryId: string): Promise<DeliveryDetail | null> {
  const { dialect } = db;
  const hex = hexOfId('dlv', deliveryId);
  if (hex === null) return Promise.resolve(null);
  return db.snapshot(async (queries) => {
    const entity = entityKey(dialect, entityId);
    const key = [entity, dialect.bindUuid(hex)];
    const where = 'entity_id = $1 and id = $2';
    const recorded = await recordedColumns.get(
      queries,
      `select ${IN_RECORD}, ${ONLY_ATTEMPT} from deliveries d where ${where}`,
      key,
    );
    const row = recorded ?? (await deliveryColumns.get(queries, `select ${IN_QUEUE} from queue q where ${where}`, key));
    if (row === undefined) return null;
    const [view] = await toDeliveries(queries, dialect, entity, [row], await readNowMs(queries, dialect));
    if (view === undefined) return null;
    const truth = await readTruth(queries, dialect, entityId, eventNoOf(dialect, row));
    const only = recorded === undefined ? null : onlyAttempt(recorded, view);
    const attemptLog = only === null ? await readAttempts(queries, key) : [only];
    return { ...view, ...truth, attemptLog };
  });
}

function onlyAttempt({ startedAtMs, durationMs, test, response }: Recorded, view: Delivery): Attempt | null {
  if (startedAtMs === null) return null;
  return {
    attempt: 1,
    kind: test === null ? 'first' : 'test',
    postUrl: view.postUrl,
    startedAtMs,
    durationMs: durationMs ?? 0,
    statusCode: view.lastStatusCode,
    error: view.lastError as Attempt['error'],
    response,
  };
}

const attemptColumns = new Columns({
  attempt: integer('attempt'),
  kind: text<Attempt['kind']>('kind'),
  postUrl: text('post_url'),
  startedAtMs: integer('started_at_ms'),
  durationMs: integer('duration_ms'),
  statusCode: nullable(integer('status_code')),
  error: nullable(text<NonNullable<Attempt['error']>>('error')),
  response: nullable(text('response')),
});

async function readAttempts(queries: Queries, key: readonly SqlUuid[]): Promise<Attempt[]> {
  const attempts = await attemptColumns.all(
    queries,
    `select ${attemptColumns.list} from attempts
     where entity_id = $1 and delivery_id = $2 order by attempt desc limit ${MAX_ATTEMPTS_SHOWN}`,
    key,
  );
  return attempts.reverse();
}
