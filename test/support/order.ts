import type { DestinationKey } from '../../src/domain/post-url.ts';
import type { Database, SqlInteger, SqlUuid } from '../../src/store/database/database.ts';
import { entityKey } from '../../src/store/database/sql.ts';
import type { Claimed } from '../../src/store/deliveries/claim/claimed.ts';
import { ensureEndpoints, urlKey } from '../../src/store/deliveries/head-endpoints.ts';
import type { AttemptRecord } from '../../src/store/deliveries/record/attempt-log.ts';
import { recordAttempts } from '../../src/store/deliveries/record/record-attempts.ts';
import { respondedWith } from './deliveries.ts';

/** Switches the order of an endpoint on, before or after its first event. Returns its number. */
export function keepOrder(db: Database, entityId: string, postUrl: string): Promise<number> {
  const { dialect } = db;
  return db.transaction(async (queries) => {
    const endpoints = await ensureEndpoints(queries, dialect, [{ entityId, postUrl }], 0);
    const no = endpoints.get(urlKey({ entityId, postUrl }))?.no ?? 0;
    const key = [entityKey(dialect, entityId), no];
    await queries.run('update endpoints set ordering = 1 where entity_id = $1 and no = $2', key);
    await queries.run('update queue_heads set ordering = 1 where entity_id = $1 and endpoint_no = $2', key);
    return no;
  });
}

export type Numbered = { deliveryId: string; endpointNo: number; sequence: number | null };

/** All deliveries of the entity in the order of their numbers. */
export async function readNumbers(db: Database, entityId: string): Promise<Numbered[]> {
  const rows = await db.all<{ id: SqlUuid; endpoint_no: SqlInteger; sequence: SqlInteger | null }>(
    `select id, endpoint_no, sequence from queue where entity_id = $1
     union all select id, endpoint_no, sequence from deliveries where entity_id = $1`,
    [entityKey(db.dialect, entityId)],
  );
  const numbered = rows.map((row) => ({
    deliveryId: `dlv_${db.dialect.hexOf(row.id)}`,
    endpointNo: Number(row.endpoint_no),
    sequence: row.sequence === null ? null : Number(row.sequence),
  }));
  return numbered.sort((a, b) => a.endpointNo - b.endpointNo || (a.sequence ?? 0) - (b.sequence ?? 0));
}

export type End = 'delivered' | 'failed' | 'retried';

export function attemptThat(end: End, delivery: Claimed, delayMs = 60_000): AttemptRecord {
  const outcome = respondedWith(end === 'delivered' ? 200 : 500);
  const isRedelivery = delivery.kind === 'redelivery';
  const status = end === 'retried' ? 'retrying' : end;
  const next = {
    status: isRedelivery && end !== 'delivered' ? delivery.status : status,
    steps: delivery.steps + (isRedelivery ? 0 : 1),
    delayMs: end === 'retried' && !isRedelivery ? delayMs : null,
    suspend: null,
  };
  return { delivery, startedAtMs: 1, outcome, next };
}

/** Returns the destinations where deliveries have their turn now. */
export async function record(db: Database, ...attempts: readonly AttemptRecord[]): Promise<DestinationKey[]> {
  const due: DestinationKey[] = [];
  await db.transaction((queries) => recordAttempts(queries, db.dialect, attempts, (found) => due.push(...found)));
  return due;
}

export async function countRows(db: Database, table: string, entityId: string): Promise<number> {
  const row = await db.get<{ total: SqlInteger }>(`select count(*) as total from ${table} where entity_id = $1`, [
    entityKey(db.dialect, entityId),
  ]);
  return Number(row?.total ?? 0);
}
