import { eventNumber } from '../../../domain/ids.ts';
import type { Queries } from '../../database/database.ts';
import { Columns, chunks, integer, type RowOf, valuesList } from '../../database/sql.ts';
import { pruneNumbers } from '../../endpoints/prune-numbers.ts';
import { findRetractable } from '../../events/retraction/retractable.ts';
import { CountChanges, ENTITY_BUCKET_MS, STORED_BYTES, WEBHOOK_BUCKET_MS, WHOLE_ENTITY } from '../counts/counts.ts';
import { statusOfCode } from '../states.ts';
import { deliveryTable } from '../tables.ts';
import type { Entity, Run } from './prune-run.ts';

const oldColumns = deliveryTable.pick(['id', 'webhookNo', 'attempts', 'status']);
type OldDelivery = RowOf<typeof oldColumns>;

const bytesColumns = new Columns({ bytes: integer() });

export async function* pruneDeliveries(run: Run, entity: Entity): AsyncGenerator<void> {
  const { db, batches, pruned, dryRun, deliveriesBeforeHex } = run;
  const { bindUuid } = db.dialect;
  let after = bindUuid('0'.repeat(32));
  for (let full = true; full && !batches.isStopped; ) {
    full = await batches.run(async (size) => {
      const rows = await oldColumns.all(
        db,
        `select ${oldColumns.list} from deliveries where entity_id = $1 and id > $2 and id < $3
         order by id limit $4`,
        [entity.key, after, bindUuid(deliveriesBeforeHex), size],
      );
      after = rows.at(-1)?.id ?? after;
      const old = await withoutRetractable(run, entity, rows);
      const gone = dryRun ? old : await db.transaction((queries) => deleteDeliveries(queries, run, entity, old));
      pruned.deliveries += gone.length;
      pruned.attempts += gone.reduce((total, { attempts }) => total + attempts, 0);
      return rows.length === size;
    });
    yield;
  }
  if (!dryRun) yield* forgetDeliveries(run, entity);
}

async function withoutRetractable({ db }: Run, { entityId }: Entity, rows: readonly OldDelivery[]) {
  const { hexOf } = db.dialect;
  const eventNos = rows.map(({ id }) => eventNumber(hexOf(id)));
  const retractable = await findRetractable(db, db.dialect, entityId, eventNos);
  return rows.filter((_, index) => !retractable.has(eventNos[index] ?? ''));
}

/** Removes the counters and the sequence numbers of old deliveries. */
export async function* forgetDeliveries(run: Run, entity: Entity): AsyncGenerator<void> {
  await forgetDeliveryCounts(run, entity);
  yield* pruneNumbers(run, entity.key);
}

/** Returns the deleted rows. Skips rows that another instance is deleting, or that a redelivery has moved to the queue. */
async function deleteDeliveries(
  queries: Queries,
  { db: { dialect } }: Run,
  { key }: Entity,
  old: readonly OldDelivery[],
): Promise<OldDelivery[]> {
  const gone: OldDelivery[] = [];
  const counts = new CountChanges(dialect, 'completion');
  for (const chunk of chunks(old)) {
    const rows = await oldColumns.all(
      queries,
      `select ${oldColumns.list} from deliveries
       where entity_id = $1 and id in ${valuesList(1, chunk.length, 1)} ${dialect.skipLocked}`,
      [key, ...chunk.map(({ id }) => id)],
    );
    if (rows.length === 0) continue;
    const list = valuesList(1, rows.length, 1);
    const parameters = [key, ...rows.map(({ id }) => id)];
    const remove = async (from: string, bytesOfRow: string) => {
      const removed = await bytesColumns.all(
        queries,
        `delete from ${from} returning ${bytesOfRow} as bytes`,
        parameters,
      );
      for (const { bytes } of removed) counts.stored(key, -bytes);
    };
    // The change of `created` below subtracts the rest of a delivery's bytes.
    const bytesOfResponse = `${STORED_BYTES.record} - ${STORED_BYTES.queued}`;
    await remove(`deliveries where entity_id = $1 and id in ${list}`, bytesOfResponse);
    await remove(`attempts where entity_id = $1 and delivery_id in ${list}`, STORED_BYTES.attempt);
    for (const row of rows) {
      const change = { created: -1, [statusOfCode(row.status)]: -1 };
      counts.deliveries(key, row.webhookNo, dialect.hexOf(row.id), change);
    }
    gone.push(...rows);
  }
  await counts.write(queries);
  return gone;
}

/** Removes the counters of times from which no deliveries are left. */
async function forgetDeliveryCounts({ db, beforeMs }: Run, { key }: Entity): Promise<void> {
  const bucket = Math.floor(beforeMs / ENTITY_BUCKET_MS);
  await db.transaction(async (queries) => {
    // Shards of one bucket may cancel each other out, so all shards of a bucket are removed together.
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
