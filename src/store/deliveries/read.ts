import type { DeliveryFilter } from '../../contract/deliveries/redelivery.ts';
import {
  type Attempt,
  type Delivery,
  type DeliveryCounts,
  type DeliveryDetail,
  type DeliveryList,
  type DeliveryListQuery,
  MAX_ATTEMPTS_SHOWN,
} from '../../contract/deliveries.ts';
import { headersFrom } from '../../domain/endpoints/shown-headers.ts';
import { hexOfId } from '../../domain/ids.ts';
import { readNowMs } from '../database/clock.ts';
import { type Database, longReadsOf, type Queries, type SqlUuid } from '../database/database.ts';
import { Columns, entityKey, integer, nullable, planForClaims, type RowOf, text } from '../database/sql.ts';
import { readSource } from '../events/read.ts';
import { countScope } from './list/count.ts';
import { countByStatus } from './list/count-by-status.ts';
import { readPageRows } from './list/page.ts';
import { findInPayloads } from './list/payload.ts';
import { type DeliveryRow, eventNoOf, queueColumns, recordColumns, toDeliveries } from './list/rows.ts';
import { resolveScope, type Scope } from './list/scope.ts';
import { readWaits } from './waits/read.ts';

/** Reads deliveries: lists with exact totals, and one delivery with its attempts. */

export function listDeliveries(db: Database, entityId: string, query: DeliveryListQuery): Promise<DeliveryList> {
  return longReadsOf(db, entityId).snapshot(async (queries) => {
    // Statements that do not need each other's results are sent together: a list holds one of the few slots for snapshots.
    const [nowMs, scope] = await Promise.all([
      planForClaims(queries, db.dialect),
      resolveScope(queries, db.dialect, entityId, query),
    ]);
    const { totalResults, rows, searched } = await readMatches(scope, query);
    const resolved = await toDeliveries(queries, db.dialect, entityKey(db.dialect, entityId), rows, nowMs);
    const waits = await readWaits({ queries, dialect: db.dialect, entityId, nowMs }, resolved);
    const deliveries = resolved.map((each) => ({ ...each, waitsFor: waits.get(each.deliveryId) ?? null }));
    return { totalResults, deliveries, searched };
  });
}

type Page = {
  readonly totalResults: number;
  readonly rows: DeliveryRow[];
  readonly searched: DeliveryList['searched'];
};

async function readMatches(scope: Scope | null, query: DeliveryListQuery): Promise<Page> {
  const { payload } = query;
  const totalResults = scope === null ? 0 : await countScope(scope);
  if (scope === null || totalResults === 0) {
    return { totalResults, rows: [], searched: payload === undefined ? null : { deliveries: 0, dateOldest: null } };
  }
  if (payload !== undefined) return findInPayloads(scope, { ...query, payload }, totalResults);
  return { totalResults, rows: await readPageRows(scope, query, totalResults), searched: null };
}

/** Counts the deliveries in each status. */
export function countStatuses(
  db: Database,
  entityId: string,
  filter: Omit<DeliveryFilter, 'status'>,
): Promise<DeliveryCounts> {
  return longReadsOf(db, entityId).snapshot(async (queries) => {
    const [, scope] = await Promise.all([
      planForClaims(queries, db.dialect),
      resolveScope(queries, db.dialect, entityId, filter),
    ]);
    return countByStatus(scope);
  });
}

/** The row of a completed delivery with one attempt also has that attempt. */
const recordedColumns = new Columns({
  ...recordColumns.shape,
  startedAtMs: nullable(integer('d.started_at_ms')),
  durationMs: nullable(integer('d.duration_ms')),
  response: nullable(text('d.response')),
});
type Recorded = RowOf<typeof recordedColumns>;

/** An attempt without the headers of its request, which are derived when it is shown. */
export type StoredAttempt = Omit<Attempt, 'requestHeaders'>;
export type StoredDelivery = Omit<DeliveryDetail, 'attemptLog'> & { attemptLog: StoredAttempt[] };

export function readDelivery(db: Database, entityId: string, deliveryId: string): Promise<StoredDelivery | null> {
  const { dialect } = db;
  const hex = hexOfId('dlv', deliveryId);
  if (hex === null) return Promise.resolve(null);
  return db.snapshot(async (queries) => {
    const entity = entityKey(dialect, entityId);
    const key = [entity, dialect.bindUuid(hex)];
    const where = 'entity_id = $1 and id = $2';
    const inRecord = `select ${recordedColumns.list} from deliveries d where ${where}`;
    const inQueue = `select ${queueColumns.list} from queue q where ${where}`;
    const recorded = await recordedColumns.get(queries, inRecord, key);
    const row = recorded ?? (await queueColumns.get(queries, inQueue, key));
    if (row === undefined) return null;
    const nowMs = await readNowMs(queries, dialect);
    const [resolved] = await toDeliveries(queries, dialect, entity, [row], nowMs);
    if (resolved === undefined) return null;
    const waits = await readWaits({ queries, dialect, entityId, nowMs }, [resolved]);
    const view = { ...resolved, waitsFor: waits.get(resolved.deliveryId) ?? null };
    const source = await readSource(queries, dialect, entityId, eventNoOf(dialect, row));
    const only = recorded === undefined ? null : onlyAttempt(recorded, view);
    const attemptLog = only === null ? await readAttempts(queries, key) : [only];
    return { ...view, ...source, attemptLog };
  }, entityId);
}

function onlyAttempt({ startedAtMs, durationMs, test, response }: Recorded, view: Delivery): StoredAttempt | null {
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
    responseHeaders: null,
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
  responseHeaders: nullable(text('response_headers')),
});

async function readAttempts(queries: Queries, key: readonly SqlUuid[]): Promise<StoredAttempt[]> {
  const attempts = await attemptColumns.all(
    queries,
    `select ${attemptColumns.list} from attempts
     where entity_id = $1 and delivery_id = $2 order by attempt desc limit ${MAX_ATTEMPTS_SHOWN}`,
    key,
  );
  return attempts.reverse().map(({ responseHeaders, ...attempt }) => ({
    ...attempt,
    responseHeaders: responseHeaders === null ? null : headersFrom(responseHeaders),
  }));
}
