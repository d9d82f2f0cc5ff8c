import { removeOldInvoices } from '../../chain/invoices/retention.ts';
import { countOldFacts, removeOldFacts } from '../../chain/retention.ts';
import { chunks, readInteger, valuesList } from '../../database/sql.ts';
import { forgetRemoved } from '../../endpoints/retention.ts';
import { pruneStats } from '../../stats/read.ts';
import { taskTable } from '../../tables.ts';
import { numberOfSubject } from '../../tasks/tasks.ts';
import { pruneOptionChanges } from '../../webhooks/option-changes.ts';
import { BLOCKED } from '../heads.ts';
import { headTable } from '../tables.ts';
import type { Entity, Run } from './prune-run.ts';

/** Removes old rows of the tables other than deliveries and events. */

const headColumns = headTable.pick(['webhookNo']);
const isGone = `blocked >= ${BLOCKED.deleted}`;
const subjectColumns = taskTable.pick(['subject']);
const ofHeads = (count: number) => `entity_id = $1 and webhook_no in ${valuesList(1, count, 1)}`;

/** Removes the heads of deleted webhooks, except heads that a delivery names or whose deliveries a task still cancels. */
export async function* pruneHeads({ db, dryRun }: Run, { key }: Entity): AsyncGenerator<void> {
  if (dryRun) return;
  await db.transaction(async (queries) => {
    const rows = await headColumns.all(
      queries,
      `select ${headColumns.of('h.')} from queue_heads h
       where h.entity_id = $1 and ${isGone}
         and not exists (select 1 from queue q where q.entity_id = $1 and q.webhook_no = h.webhook_no)
         and not exists (select 1 from deliveries d where d.entity_id = $1 and d.webhook_no = h.webhook_no)
       limit 500`,
      [key],
    );
    const tasks = await subjectColumns.all(
      queries,
      `select ${subjectColumns.list} from tasks where entity_id = $1 and kind = 'cancel'`,
      [key],
    );
    const cancelled = new Set(tasks.map(({ subject }) => numberOfSubject(db.dialect, subject)));
    const free = rows.flatMap(({ webhookNo }) => (cancelled.has(webhookNo) ? [] : webhookNo));
    for (const chunk of chunks(free)) {
      // An alert may have restored its head since.
      const removed = await headColumns.all(
        queries,
        `delete from queue_heads where ${ofHeads(chunk.length)} and ${isGone} returning ${headColumns.list}`,
        [key, ...chunk],
      );
      if (removed.length === 0) continue;
      const values = [key, ...removed.map(({ webhookNo }) => webhookNo)];
      for (const table of ['queue_counts', 'delivery_counts']) {
        await queries.run(`delete from ${table} where ${ofHeads(removed.length)}`, values);
      }
    }
  });
  yield;
}

export async function* pruneRedeliveries(
  { db, batches, pruned, dryRun, beforeS }: Run,
  { entityId }: Entity,
): AsyncGenerator<void> {
  const old = 'redeliveries where entity_id = $1 and finished_at < $2';
  if (dryRun) {
    pruned.redeliveries += await readInteger(db, 'count(*)', `from ${old}`, [entityId, beforeS]);
    return;
  }
  yield* inBatches(batches, async (size) => {
    const sql = `delete from redeliveries where entity_id = $1 and id in (
      select id from ${old} limit ${size} ${db.dialect.skipLocked})`;
    const deleted = await db.transaction((queries) => queries.run(sql, [entityId, beforeS]));
    pruned.redeliveries += deleted;
    return deleted;
  });
}

/** Removes old invoices, which are not part of the report. Runs before the facts, which stay as long as their invoices. */
export async function* pruneInvoices(
  { db, batches, dryRun, beforeS }: Run,
  { entityId }: Entity,
): AsyncGenerator<void> {
  if (dryRun) return;
  yield* inBatches(batches, (size) => removeOldInvoices(db, entityId, beforeS, size));
}

/** Removes old facts. Runs after the events, because held facts are removed together with their events. */
export async function* pruneFacts(run: Run, { entityId }: Entity): AsyncGenerator<void> {
  const { db, batches, pruned, dryRun } = run;
  if (dryRun) {
    pruned.facts += await countOldFacts(db, entityId, run);
    return;
  }
  yield* inBatches(batches, async (size) => {
    const removed = await removeOldFacts(db, entityId, run, size);
    pruned.facts += removed;
    return removed;
  });
}

/** Removes old changes of options, which are not part of the report. */
export async function* pruneChanges({ db, batches, dryRun }: Run, { entityId }: Entity): AsyncGenerator<void> {
  if (dryRun) return;
  await batches.run(() => pruneOptionChanges(db, entityId));
  yield;
}

/** Removes expired secrets and keys. An entity has a handful of them at most. */
export async function* pruneSecrets({ db, pruned, dryRun, nowS }: Run, { entityId }: Entity): AsyncGenerator<void> {
  const parameters = [entityId, nowS];
  for (const table of ['signing_secrets', 'signing_keys', 'endpoint_secrets']) {
    const expired = `${table} where entity_id = $1 and expires_at <= $2`;
    pruned.secrets += dryRun
      ? await readInteger(db, 'count(*)', `from ${expired}`, parameters)
      : await db.transaction((queries) => queries.run(`delete from ${expired}`, parameters));
    yield;
  }
}

/** Removes the rows of removed endpoints that no delivery can name. They are not part of the report. */
export async function* pruneEndpoints(
  { db, batches, dryRun, beforeMs, beforeHex }: Run,
  { key }: Entity,
): AsyncGenerator<void> {
  if (dryRun) return;
  await batches.run(() => forgetRemoved(db, key, beforeMs, db.dialect.bindUuid(beforeHex)));
  yield;
}

/** Removes statistics as old as the removed deliveries. They are not part of the report. */
export async function* pruneOldStats(
  { db, batches, dryRun, beforeS }: Run,
  { entityId }: Entity,
): AsyncGenerator<void> {
  if (dryRun) return;
  yield* inBatches(batches, (size) => pruneStats(db, entityId, beforeS, size));
}

/** Repeats a removal until it finds fewer rows than a batch. */
async function* inBatches(batches: Run['batches'], remove: (size: number) => Promise<number>): AsyncGenerator<void> {
  for (let full = true; full && !batches.isStopped; ) {
    full = await batches.run(async (size) => (await remove(size)) === size);
    yield;
  }
}
