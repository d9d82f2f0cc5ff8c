import { eventNumber, firstHexAt } from '../../../domain/ids.ts';
import { readNowMs } from '../../database/clock.ts';
import type { Database, SqlInteger } from '../../database/database.ts';
import type { PacedBatches } from '../../database/paced-batches.ts';
import { Columns, entityKey, uuid } from '../../database/sql.ts';
import { REMOVED, removedBefore } from '../../endpoints/retention.ts';
import { findRetractable } from '../../events/retraction/retractable.ts';
import { CHANGES_KEPT_MS } from '../../webhooks/option-changes.ts';
import { BLOCKED } from '../heads.ts';
import { dropOldDays } from './days/days.ts';
import { forgetDeliveries, pruneDeliveries } from './old-deliveries.ts';
import { forgetEventCounts, pruneEvents } from './old-events.ts';
import type { Entity, Pruned, Run, Step } from './prune-run.ts';
import {
  pruneChanges,
  pruneEndpoints,
  pruneFacts,
  pruneHeads,
  pruneInvoices,
  pruneOldStats,
  pruneRedeliveries,
  pruneSecrets,
} from './small-tables.ts';

/**
 * Removes completed deliveries and their events when they are old, entity by entity in the order of ids, in short transactions.
 * Waiting deliveries stay, however old they are, and so do their events. The deliveries of a payment that can still be retracted
 * stay too (`store/events/retraction/retractable.ts`). Several instances may do this at once: each skips the rows that another
 * instance is deleting. If tables are partitioned by day, whole old days are dropped first.
 */

export type PruneOptions = {
  olderThanMs: number;
  batches: PacedBatches;
  /** Only counts the rows that a run would remove. */
  dryRun?: boolean;
  /** If tables are partitioned by day, leaves a day that is only partly old until it can be dropped. */
  keepsDays?: boolean;
  onProgress?: (soFar: Readonly<Pruned>) => void;
  /** The database's clock by default, because an instance whose clock runs ahead must not remove rows too early. */
  nowMs?: number;
};

const ENTITIES_PER_LOOK = 100;

export async function prune(db: Database, options: PruneOptions): Promise<Pruned> {
  const { batches, olderThanMs, dryRun = false, keepsDays = false, onProgress } = options;
  const nowMs = options.nowMs ?? (await readNowMs(db, db.dialect));
  const beforeMs = nowMs - olderThanMs;
  const pruned: Pruned = { deliveries: 0, attempts: 0, events: 0, redeliveries: 0, secrets: 0, facts: 0 };
  const beforeHex = firstHexAt(beforeMs);
  const run: Run = {
    ...{ db, batches, dryRun, keepsDays, pruned, beforeHex, beforeMs },
    nowS: Math.floor(nowMs / 1000),
    beforeS: Math.floor(beforeMs / 1000),
    deliveriesBeforeHex: beforeHex,
    eventsBeforeHex: beforeHex,
  };
  Object.assign(run, await dropOldDays(run));
  const hasDropped = pruned.deliveries + pruned.events > 0;
  if (hasDropped) onProgress?.(pruned);
  for await (const entity of entitiesOf(run)) {
    for (const step of await stepsFor(run, entity, hasDropped)) {
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
  | ('own_secrets' | 'endpoints' | 'facts' | 'invoices' | 'changes');

/**
 * The steps that have rows to remove. One statement finds them, because usually an entity has none. Deliveries are removed before
 * their events.
 */
async function stepsFor(run: Run, { entityId, key }: Entity, hasDropped: boolean): Promise<Step[]> {
  const { db, batches, deliveriesBeforeHex, eventsBeforeHex, beforeMs, beforeS, nowS } = run;
  const { bindUuid } = db.dialect;
  const has = (from: string, name: string) => `case when exists (select 1 from ${from}) then 1 else 0 end as ${name}`;
  const deleted = `queue_heads where entity_id = $1 and blocked >= ${BLOCKED.deleted}`;
  const row = await batches.run(() =>
    db.get<Record<Prunable, SqlInteger>>(
      `select ${has('deliveries where entity_id = $1 and id < $2', 'deliveries')},
         ${has('events where entity_id = $1 and no < $8', 'events')}, ${has(deleted, 'heads')},
         ${has('redeliveries where entity_id = $3 and finished_at < $4', 'redeliveries')},
         ${has('signing_secrets where entity_id = $3 and expires_at <= $5', 'secrets')},
         ${has('signing_keys where entity_id = $3 and expires_at <= $5', 'keys')},
         ${has('endpoint_secrets where entity_id = $3 and expires_at <= $5', 'own_secrets')},
         ${has(REMOVED.replace('$2', '$6'), 'endpoints')},
         ${has('facts where entity_id = $3 and created_at_ms < $7', 'facts')},
         ${has('invoices where entity_id = $3 and watched_until < $4', 'invoices')},
         ${has('option_changes where entity_id = $3 and changed_at_ms < $9', 'changes')},
         ${has('interval_stats where entity_id = $1 and seconds in (60, 3600, 86400) and start_s <= $4 - 86400', 'stats')}`,
      [
        ...[key, bindUuid(deliveriesBeforeHex), entityId, beforeS, nowS, removedBefore(beforeMs), beforeMs],
        bindUuid(eventsBeforeHex),
        nowS * 1000 - CHANGES_KEPT_MS,
      ],
    ),
  );
  const isThere = (name: Prunable) => Number(row?.[name] ?? 0) === 1;
  return [
    ...(isThere('deliveries') ? [pruneDeliveries] : hasDropped ? [forgetDeliveries] : []),
    ...(isThere('events') ? [pruneEvents] : hasDropped ? [forgetEvents] : []),
    ...(isThere('heads') ? [pruneHeads] : []),
    ...(isThere('redeliveries') ? [pruneRedeliveries] : []),
    ...(isThere('secrets') || isThere('keys') || isThere('own_secrets') ? [pruneSecrets] : []),
    ...(isThere('endpoints') ? [pruneEndpoints] : []),
    ...(isThere('invoices') ? [pruneInvoices] : []),
    ...(isThere('facts') ? [pruneFacts] : []),
    ...(isThere('changes') ? [pruneChanges] : []),
    ...(isThere('stats') ? [pruneOldStats] : []),
  ];
}

async function* forgetEvents(run: Run, entity: Entity): AsyncGenerator<void> {
  await forgetEventCounts(run, entity);
  yield;
}

const OLDEST = 100;
const idColumns = new Columns({ id: uuid('id') });

/**
 * For `doctor`: whether an entity still has a delivery that retention should have removed. Looks only at the oldest deliveries of
 * each entity. Deliveries of events that may still be retracted do not count.
 */
export async function holdsOverdue(db: Database, olderThanMs: number): Promise<boolean> {
  const { bindUuid, hexOf } = db.dialect;
  const before = bindUuid(firstHexAt((await readNowMs(db, db.dialect)) - olderThanMs));
  let after: string | undefined = '';
  while (after !== undefined) {
    const page: { id: string }[] = await db.all(
      `select id from entities where id > $1 order by id limit ${ENTITIES_PER_LOOK}`,
      [after],
    );
    for (const { id } of page) {
      const sql = `select id from deliveries where entity_id = $1 and id < $2 order by id limit ${OLDEST}`;
      const oldest = await idColumns.all(db, sql, [entityKey(db.dialect, id), before]);
      const eventNos = new Set(oldest.map((row) => eventNumber(hexOf(row.id))));
      const retractable = await findRetractable(db, db.dialect, id, eventNos);
      if (retractable.size < eventNos.size) return true;
    }
    after = page.length < ENTITIES_PER_LOOK ? undefined : page.at(-1)?.id;
  }
  return false;
}
