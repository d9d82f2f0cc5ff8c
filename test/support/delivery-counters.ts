import { timeOfHex } from '../../src/domain/ids.ts';
import type { Database, SqlInteger, SqlUuid } from '../../src/store/database/database.ts';
import {
  ENTITY_BUCKET_MS,
  STORED_BYTES,
  WEBHOOK_BUCKET_MS,
  WHOLE_ENTITY,
} from '../../src/store/deliveries/counts/counts.ts';
import { statusOfCode } from '../../src/store/deliveries/states.ts';
import { WITHOUT_DELIVERIES } from '../../src/store/events/unmatched.ts';

type Row = Readonly<Record<string, SqlInteger | SqlUuid | null>>;

const SUMMED = {
  queue_counts: { keys: ['webhook_no'], sums: ['waiting', 'retrying', 'stored_bytes', 'undelivered'] },
  delivery_counts: {
    keys: ['webhook_no', 'bucket'],
    sums: ['created', 'delivered', 'failed', 'cancelled', 'superseded'],
  },
  event_counts: { keys: ['network_id', 'event', 'bucket'], sums: ['events'] },
  event_day_counts: { keys: ['bucket'], sums: ['events'] },
} as const;

/** Every counter that differs from a count of the rows it stands for; none when all is well. */
export async function wrongDeliveryCounters(db: Database): Promise<string[]> {
  const [kept, counted] = [await readCounters(db), await countRows(db)];
  const names = new Set([...kept.keys(), ...counted.keys()]);
  return [...names].flatMap((name) => {
    const [is, shouldBe] = [kept.get(name) ?? 0, counted.get(name) ?? 0];
    return is === shouldBe ? [] : [`${name}: ${is} instead of ${shouldBe}`];
  });
}

async function readCounters(db: Database): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const [table, { keys, sums }] of Object.entries(SUMMED)) {
    for (const row of await db.all<Row>(`select * from ${table}`)) {
      const key = [hexOf(db, row.entity_id), ...keys.map((name) => row[name])].join(' ');
      for (const sum of sums) add(found, `${table} ${key} ${sum}`, Number(row[sum]));
    }
  }
  return found;
}

async function countRows(db: Database): Promise<Map<string, number>> {
  const counted = new Map<string, number>();
  const queued = await db.all<Row>('select entity_id, id, webhook_no, attempts, recorded as status from queue');
  const recorded = await db.all<Row>('select entity_id, id, webhook_no, status from deliveries');
  for (const row of [...queued, ...recorded]) {
    const entity = hexOf(db, row.entity_id);
    const timeMs = timeOfHex(hexOf(db, row.id));
    for (const [webhookNo, bucketMs] of [
      [WHOLE_ENTITY, ENTITY_BUCKET_MS],
      [row.webhook_no, WEBHOOK_BUCKET_MS],
    ] as const) {
      const key = `delivery_counts ${entity} ${webhookNo} ${Math.floor(timeMs / bucketMs)}`;
      add(counted, `${key} created`, 1);
      if (row.status !== null) add(counted, `${key} ${statusOfCode(Number(row.status))}`, 1);
    }
    if (row.status !== null) continue;
    add(counted, `queue_counts ${entity} ${row.webhook_no} waiting`, 1);
    add(counted, `queue_counts ${entity} ${row.webhook_no} retrying`, Number(row.attempts) > 0 ? 1 : 0);
  }
  const events = await db.all<Row>(
    `select entity_id, network_id, event, created_at_ms / 3600000 as bucket, created_at_ms / 86400000 as day,
       case when ${WITHOUT_DELIVERIES} then 1 else 0 end as undelivered from events`,
  );
  for (const row of events) {
    const key = [hexOf(db, row.entity_id), row.network_id, row.event, row.bucket].join(' ');
    add(counted, `event_counts ${key} events`, 1);
    add(counted, `event_day_counts ${hexOf(db, row.entity_id)} ${row.day} events`, 1);
    add(counted, `queue_counts ${hexOf(db, row.entity_id)} ${WHOLE_ENTITY} undelivered`, Number(row.undelivered));
  }
  for (const row of await db.all<Row>(STORED)) {
    add(counted, `queue_counts ${hexOf(db, row.entity_id)} ${WHOLE_ENTITY} stored_bytes`, Number(row.bytes));
  }
  return counted;
}

const STORED = `select entity_id, sum(bytes) as bytes from (
  select entity_id, ${STORED_BYTES.event} as bytes from events
  union all select entity_id, ${STORED_BYTES.queued} from queue
  union all select entity_id, ${STORED_BYTES.record} from deliveries
  union all select entity_id, ${STORED_BYTES.attempt} from attempts) stored group by entity_id`;

/** For rows that a test inserts itself. */
export async function countStoredBytes(db: Database): Promise<void> {
  await db.transaction(async (queries) => {
    await queries.run('update queue_counts set stored_bytes = 0');
    await queries.run(
      `insert into queue_counts (entity_id, webhook_no, shard, waiting, retrying, stored_bytes)
       select entity_id, ${WHOLE_ENTITY}, 0, 0, 0, bytes from (${STORED}) s where 1 = 1
       on conflict (entity_id, webhook_no, shard) do update set stored_bytes = excluded.stored_bytes`,
    );
  });
}

function hexOf(db: Database, uuid: Row[string] | undefined): string {
  return db.dialect.hexOf((uuid ?? '') as SqlUuid);
}

function add(sums: Map<string, number>, name: string, change: number): void {
  sums.set(name, (sums.get(name) ?? 0) + change);
}
