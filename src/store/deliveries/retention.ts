import { firstHexAt, lastDeliveryHex } from '../../domain/ids.ts';
import { hasRole, readSubject, roleOf } from '../../domain/supersession/rules.ts';
import { readNowMs } from '../database/clock.ts';
import type { Database, Dialect, Queries, SqlInteger, SqlUuid, SqlValue } from '../database/database.ts';
import type { PacedBatches } from '../database/paced-batches.ts';
import { chunks, entityKey, eventIdKey, valuesList } from '../database/sql.ts';
import { pruneNumbers } from '../endpoints/prune-numbers.ts';
import { forgetRemoved, REMOVED, removedBefore } from '../endpoints/retention.ts';
import { pruneStats } from '../stats/read.ts';
import {
  CountChanges,
  countEvents,
  ENTITY_BUCKET_MS,
  EVENT_BUCKET_MS,
  STORED_BYTES,
  WEBHOOK_BUCKET_MS,
  WHOLE_ENTITY,
} from './counts/counts.ts';
import { BLOCKED } from './heads.ts';
import { forgetSubject } from './order/supersede.ts';
import { statusOfCode } from './states.ts';

/**
 * Removes what is complete and old, entity by entity in the order of ids, in short transactions. What still waits is in
 * the queue and stays however old it is, and so does its event. Several instances may do this at once: what one of them
 * is deleting the others pass over.
 */

export type Pruned = { deliveries: number; attempts: number; events: number; redeliveries: number; secrets: number };

export type PruneOptions = {
  olderThanMs: number;
  batches: PacedBatches;
  /** Only counts what would go. */
  dryRun?: boolean;
  onProgress?: (soFar: Readonly<Pruned>) => void;
  /** The database's clock when absent: an instance whose own clock runs ahead must not take what others still keep. */
  nowMs?: number;
};

type Run = {
  db: Database;
  batches: PacedBatches;
  dryRun: boolean;
  nowS: number;
  beforeS: number;
  /** Sorts before every id that stays. */
  beforeHex: string;
  beforeMs: number;
  pruned: Pruned;
};

type Entity = { entityId: string; key: SqlUuid };

const ENTITIES_PER_LOOK = 100;

export async function prune(db: Database, options: PruneOptions): Promise<Pruned> {
  const { batches, olderThanMs, dryRun = false, onProgress } = options;
  const nowMs = options.nowMs ?? (await readNowMs(db, db.dialect));
  const beforeMs = nowMs - olderThanMs;
  const pruned: Pruned = { deliveries: 0, attempts: 0, events: 0, redeliveries: 0, secrets: 0 };
  const run: Run = {
    db,
    batches,
    dryRun,
    nowS: Math.floor(nowMs / 1000),
    beforeS: Math.floor(beforeMs / 1000),
    beforeHex: firstHexAt(beforeMs),
    beforeMs,
    pruned,
  };
  for await (const entity of entitiesOf(run)) {
    for (const step of await stepsFor(run, entity)) {
      for await (const _part of step(run, entity)) onProgress?.(pruned);
      if (batches.isStopped) return pruned;
    }
  }
  return pruned;
}

async function* entitiesOf({ db, batches }: Run): AsyncGenerator<Entity> {
  let after = '';
  while (!batches.isStopped) {
    const page: { id: string }[] = await batches.run(() =>
      db.all(`select id from entities where id > $1 order by id limit ${ENTITIES_PER_LOOK}`, [after]),
    );
    for (const { id } of page) yield { entityId: id, key: entityKey(db.dialect, id) };
    const last = page.at(-1);
    if (last === undefined || page.length < ENTITIES_PER_LOOK) return;
    after = last.id;
  }
}

type Prunable =
  | ('deliveries' | 'events' | 'redeliveries' | 'secrets' | 'keys' | 'stats' | 'heads')
  | ('own_secrets' | 'endpoints');

type Step = (run: Run, entity: Entity) => AsyncGenerator<void>;

/** Most entities have nothing to remove at most times: one statement tells. Deliveries go before their events. */
async function stepsFor(
  { db, batches, beforeHex, beforeMs, beforeS, nowS }: Run,
  { entityId, key }: Entity,
): Promise<Step[]> {
  const has = (from: string, name: string) => `case when exists (select 1 from ${from}) then 1 else 0 end as ${name}`;
  const deleted = `queue_heads where entity_id = $1 and blocked >= ${BLOCKED.deleted} and deleted_at_ms is null`;
  const row = await batches.run(() =>
    db.get<Record<Prunable, SqlInteger>>(
      `select ${has('deliveries where entity_id = $1 and id < $2', 'deliveries')},
         ${has('events where entity_id = $1 and no < $2', 'events')}, ${has(deleted, 'heads')},
         ${has('redeliveries where entity_id = $3 and finished_at < $4', 'redeliveries')},
         ${has('signing_secrets where entity_id = $3 and expires_at <= $5', 'secrets')},
         ${has('signing_keys where entity_id = $3 and expires_at <= $5', 'keys')},
         ${has('endpoint_secrets where entity_id = $3 and expires_at <= $5', 'own_secrets')},
         ${has(REMOVED.replace('$2', '$6'), 'endpoints')},
         ${has('stats where entity_id = $3 and seconds in (60, 3600, 86400) and start_s <= $4 - 86400', 'stats')}`,
      [key, db.dialect.bindUuid(beforeHex), entityId, beforeS, nowS, removedBefore(beforeMs)],
    ),
  );
  const isThere = (name: Prunable) => Number(row?.[name] ?? 0) === 1;
  return [
    ...(isThere('deliveries') ? [pruneDeliveries] : []),
    ...(isThere('events') ? [pruneEvents] : []),
    ...(isThere('heads') ? [pruneHeads] : []),
    ...(isThere('redeliveries') ? [pruneRedeliveries] : []),
    ...(isThere('secrets') || isThere('keys') || isThere('own_secrets') ? [pruneSecrets] : []),
    ...(isThere('endpoints') ? [pruneEndpoints] : []),
    ...(isThere('stats') ? [pruneOldStats] : []),
  ];
}

type OldDelivery = { id: SqlUuid; webhook_no: SqlInteger; attempts: SqlInteger; status: SqlInteger };

async function* pruneDeliveries(run: Run, entity: Entity): AsyncGenerator<void> {
  const { db, batches, pruned, dryRun, beforeHex } = run;
  const { bindUuid } = db.dialect;
  let after = bindUuid('0'.repeat(32));
  for (let full = true; full && !batches.isStopped; ) {
    full = await batches.run(async (size) => {
      const rows = await db.all<OldDelivery>(
        `select id, webhook_no, attempts, status from deliveries where entity_id = $1 and id > $2 and id < $3
         order by id limit $4`,
        [entity.key, after, bindUuid(beforeHex), size],
      );
      after = rows.at(-1)?.id ?? after;
      const gone = dryRun ? rows : await db.transaction((queries) => deleteDeliveries(queries, run, entity, rows));
      pruned.deliveries += gone.length;
      pruned.attempts += gone.reduce((total, { attempts }) => total + Number(attempts), 0);
      return rows.length === size;
    });
    yield;
  }
  if (dryRun) return;
  await forgetDeliveryCounts(run, entity);
  yield* pruneNumbers(run, entity.key);
}

/** Returns those that were there: another instance may be deleting some, or a redelivery may have taken them back. */
async function deleteDeliveries(
  queries: Queries,
  { db: { dialect } }: Run,
  { key }: Entity,
  old: readonly OldDelivery[],
): Promise<OldDelivery[]> {
  const gone: OldDelivery[] = [];
  const counts = new CountChanges(dialect, 'completion');
  for (const chunk of chunks(old)) {
    const rows = await queries.all<OldDelivery>(
      `select id, webhook_no, attempts, status from deliveries
       where entity_id = $1 and id in ${valuesList(1, chunk.length, 1)} ${dialect.skipLocked}`,
      [key, ...chunk.map(({ id }) => id)],
    );
    if (rows.length === 0) continue;
    const list = valuesList(1, rows.length, 1);
    const parameters = [key, ...rows.map(({ id }) => id)];
    const remove = async (from: string, bytesOfRow: string) => {
      const sql = `delete from ${from} returning ${bytesOfRow} as bytes`;
      const removed = await queries.all<{ bytes: SqlInteger }>(sql, parameters);
      for (const { bytes } of removed) counts.stored(key, -Number(bytes));
    };
    // `created` stands for the rest of a delivery's bytes.
    const bytesOfResponse = `${STORED_BYTES.record} - ${STORED_BYTES.queued}`;
    await remove(`deliveries where entity_id = $1 and id in ${list}`, bytesOfResponse);
    await remove(`attempts where entity_id = $1 and delivery_id in ${list}`, STORED_BYTES.attempt);
    for (const row of rows) {
      const change = { created: -1, [statusOfCode(Number(row.status))]: -1 };
      counts.deliveries(key, Number(row.webhook_no), dialect.hexOf(row.id), change);
    }
    gone.push(...rows);
  }
  await counts.write(queries);
  return gone;
}

/** Counters of times from which nothing is left. */
async function forgetDeliveryCounts({ db, beforeMs }: Run, { key }: Entity): Promise<void> {
  const bucket = Math.floor(beforeMs / ENTITY_BUCKET_MS);
  await db.transaction(async (queries) => {
    // Shards of one bucket may cancel each other out, so a bucket goes as a whole or not at all.
    await queries.run(
      `delete from delivery_counts where entity_id = $1 and webhook_no = ${WHOLE_ENTITY} and bucket in (
         select bucket from delivery_counts where entity_id = $1 and webhook_no = ${WHOLE_ENTITY} and bucket < $2
         group by bucket having sum(created) = 0)`,
      [key, bucket],
    );
    await queries.run(
      `delete from delivery_counts where entity_id = $1 and webhook_no <> ${WHOLE_ENTITY} and (webhook_no, bucket) in (
         select webhook_no, bucket from delivery_counts
         where entity_id = $1 and webhook_no <> ${WHOLE_ENTITY} and bucket < $2
         group by webhook_no, bucket having sum(created) = 0)`,
      [key, Math.floor(beforeMs / WEBHOOK_BUCKET_MS)],
    );
  });
}

async function forgetEventCounts({ db, beforeMs }: Run, { key }: Entity): Promise<void> {
  await db.transaction((queries) =>
    queries.run(
      `delete from event_counts where entity_id = $1 and (network_id, event, bucket) in (
         select network_id, event, bucket from event_counts where entity_id = $1 and bucket < $2
         group by network_id, event, bucket having sum(events) = 0)`,
      [key, Math.floor(beforeMs / EVENT_BUCKET_MS)],
    ),
  );
}

type OldEvent = {
  no: SqlUuid;
  event_id: string | null;
  network_id: SqlInteger;
  event: string;
  created_at_ms: SqlInteger;
};

/** An event goes once no delivery of it is left; it never gets another, because deliveries are made with their event. */
async function* pruneEvents(run: Run, entity: Entity): AsyncGenerator<void> {
  const { db, batches, pruned, dryRun, beforeHex } = run;
  const { bindUuid, hexOf } = db.dialect;
  let after = bindUuid('0'.repeat(32));
  for (let full = true; full && !batches.isStopped; ) {
    full = await batches.run(async (size) => {
      const rows = await db.all<OldEvent>(
        `select no, event_id, network_id, event, created_at_ms from events
         where entity_id = $1 and no > $2 and no < $3 order by no limit $4`,
        [entity.key, after, bindUuid(beforeHex), size],
      );
      after = rows.at(-1)?.no ?? after;
      const wanted = await findWanted(run, entity, rows);
      const free = rows.filter(({ no }) => !wanted.has(hexOf(no)));
      pruned.events += dryRun
        ? free.length
        : await db.transaction((queries) => deleteEvents(queries, db, entity, free));
      return rows.length === size;
    });
    yield;
  }
  if (!dryRun) await forgetEventCounts(run, entity);
}

/** The events of which a delivery is left, by their numbers. */
async function findWanted({ db, dryRun }: Run, { key }: Entity, events: readonly OldEvent[]): Promise<Set<string>> {
  const { uuid, bindUuid, hexOf } = db.dialect;
  const wanted = new Set<string>();
  const inRange = (
    table: string,
  ) => `exists (select 1 from ${table} d where d.entity_id = $1 and d.id > e.no and d.id <= e.last)
    or exists (select 1 from ${table} d where d.entity_id = $1 and d.event_no = e.no and d.event_no is not null)`;
  // In a dry run the deliveries that would go are still there, and an old event has none that are younger.
  const left = dryRun ? inRange('queue') : `${inRange('queue')} or ${inRange('deliveries')}`;
  for (const chunk of chunks(events)) {
    const rows = await db.all<{ no: SqlUuid }>(
      `with e (no, last) as (values ${valuesList(chunk.length, 2, 1, [uuid, uuid])}) select no from e where ${left}`,
      [key, ...chunk.flatMap(({ no }): SqlValue[] => [no, bindUuid(lastDeliveryHex(hexOf(no)))])],
    );
    for (const { no } of rows) wanted.add(hexOf(no));
  }
  return wanted;
}

async function deleteEvents(
  queries: Queries,
  { dialect }: Database,
  { key }: Entity,
  old: readonly OldEvent[],
): Promise<number> {
  const gone: OldEvent[] = [];
  const counts = new CountChanges(dialect, 'completion');
  for (const chunk of chunks(old)) {
    const rows = await queries.all<{ no: SqlUuid; event: string; body: string; bytes: SqlInteger }>(
      `delete from events where entity_id = $1 and no in ${valuesList(1, chunk.length, 1)}
       returning no, event, body, ${STORED_BYTES.event} as bytes`,
      [key, ...chunk.map(({ no }) => no)],
    );
    for (const { bytes } of rows) counts.stored(key, -Number(bytes));
    const deleted = new Set(rows.map(({ no }) => dialect.hexOf(no)));
    const removed = chunk.filter(({ no }) => deleted.has(dialect.hexOf(no)));
    gone.push(...removed);
    for (const { no, event, body } of rows) await forgetEvent(queries, dialect, key, { no, event, body });
    for (const { event_id, no } of removed) {
      if (event_id === null) continue;
      // By the number too: the same id may have been accepted again since.
      await queries.run('delete from event_ids where entity_id = $1 and hash = $2 and no = $3', [
        key,
        eventIdKey(dialect, event_id),
        no,
      ]);
    }
  }
  await counts.write(queries);
  const changes = gone.map((row) => ({
    entity: key,
    networkId: Number(row.network_id),
    event: row.event,
    createdAtMs: Number(row.created_at_ms),
    events: -1,
  }));
  await countEvents(queries, dialect, changes, 'completion');
  return gone.length;
}

/** What is removed supersedes nothing any more. */
async function forgetEvent(
  queries: Queries,
  dialect: Dialect,
  entity: SqlUuid,
  { no, event, body }: { no: SqlUuid; event: string; body: string },
): Promise<void> {
  if (!hasRole(event)) return;
  const { agreementId, transferId } = JSON.parse(body) as Readonly<Record<string, unknown>>;
  const role = roleOf(event, { agreementId: readSubject(agreementId), transferId: readSubject(transferId) });
  if (role !== null) await forgetSubject(queries, dialect, { entity, eventNo: dialect.hexOf(no), role });
}

/** Heads of webhooks that were deleted stay while a delivery names them. */
async function* pruneHeads({ db, dryRun }: Run, { key }: Entity): AsyncGenerator<void> {
  if (dryRun) return;
  await db.transaction(async (queries) => {
    const rows = await queries.all<{ webhook_no: SqlInteger }>(
      `select h.webhook_no from queue_heads h
       where h.entity_id = $1 and h.blocked >= ${BLOCKED.deleted} and h.deleted_at_ms is null
         and not exists (select 1 from queue q where q.entity_id = $1 and q.webhook_no = h.webhook_no)
         and not exists (select 1 from deliveries d where d.entity_id = $1 and d.webhook_no = h.webhook_no)
       limit 500`,
      [key],
    );
    for (const chunk of chunks(rows.map((row): SqlValue => Number(row.webhook_no)))) {
      const which = `where entity_id = $1 and webhook_no in ${valuesList(1, chunk.length, 1)}`;
      for (const table of ['queue_heads', 'queue_counts', 'delivery_counts']) {
        await queries.run(`delete from ${table} ${which}`, [key, ...chunk]);
      }
    }
  });
  yield;
}

async function* pruneRedeliveries(
  { db, batches, pruned, dryRun, beforeS }: Run,
  { entityId }: Entity,
): AsyncGenerator<void> {
  const old = 'redeliveries where entity_id = $1 and finished_at < $2';
  if (dryRun) {
    pruned.redeliveries += await count(db, old, [entityId, beforeS]);
    return;
  }
  for (let full = true; full && !batches.isStopped; ) {
    full = await batches.run(async (size) => {
      const sql = `delete from redeliveries where entity_id = $1 and id in (
        select id from ${old} limit ${size} ${db.dialect.skipLocked})`;
      const deleted = await db.transaction((queries) => queries.run(sql, [entityId, beforeS]));
      pruned.redeliveries += deleted;
      return deleted === size;
    });
    yield;
  }
}

/** Secrets and keys that sign no more; there are a handful at most. */
async function* pruneSecrets({ db, pruned, dryRun, nowS }: Run, { entityId }: Entity): AsyncGenerator<void> {
  const parameters = [entityId, nowS];
  for (const table of ['signing_secrets', 'signing_keys', 'endpoint_secrets']) {
    const expired = `${table} where entity_id = $1 and expires_at <= $2`;
    pruned.secrets += dryRun
      ? await count(db, expired, parameters)
      : await db.transaction((queries) => queries.run(`delete from ${expired}`, parameters));
    yield;
  }
}

/** Removed endpoints stay while a delivery may name them, and are not part of the report. */
async function* pruneEndpoints(
  { db, batches, dryRun, beforeMs, beforeHex }: Run,
  { key }: Entity,
): AsyncGenerator<void> {
  if (dryRun) return;
  await batches.run(() => forgetRemoved(db, key, beforeMs, db.dialect.bindUuid(beforeHex)));
  yield;
}

/** Statistics go with what they summed up, and are not part of the report. */
async function* pruneOldStats({ db, batches, dryRun, beforeS }: Run, { entityId }: Entity): AsyncGenerator<void> {
  for (let full = !dryRun; full && !batches.isStopped; ) {
    full = await batches.run(async (size) => (await pruneStats(db, entityId, beforeS, size)) === size);
    yield;
  }
}

async function count(db: Database, from: string, parameters: readonly SqlValue[]): Promise<number> {
  const row = await db.get<{ total: SqlInteger }>(`select count(*) as total from ${from}`, parameters);
  return Number(row?.total ?? 0);
}

/** Whether some entity still has what should have gone by then: `doctor` asks, and looks at the oldest of each alone. */
export async function holdsOverdue(db: Database, olderThanMs: number): Promise<boolean> {
  const { bindUuid } = db.dialect;
  const before = bindUuid(firstHexAt((await readNowMs(db, db.dialect)) - olderThanMs));
  let after: string | undefined = '';
  while (after !== undefined) {
    const page: { id: string }[] = await db.all(
      `select id from entities where id > $1 order by id limit ${ENTITIES_PER_LOOK}`,
      [after],
    );
    for (const { id } of page) {
      const sql = 'select 1 as found from deliveries where entity_id = $1 and id < $2 limit 1';
      if ((await db.get(sql, [entityKey(db.dialect, id), before])) !== undefined) return true;
    }
    after = page.length < ENTITIES_PER_LOOK ? undefined : page.at(-1)?.id;
  }
  return false;
}
