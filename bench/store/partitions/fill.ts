import type { SQL } from 'bun';
import type { Database } from '../../../src/store/database/database.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import {
  ENTITY_BUCKET_MS,
  STORED_BYTES,
  WEBHOOK_BUCKET_MS,
  WHOLE_ENTITY,
} from '../../../src/store/deliveries/counts/counts.ts';
import { EVENT_BUCKET_MS, EVENT_DAY_MS } from '../../../src/store/deliveries/counts/event-counts.ts';
import { createTenant, type Tenant } from '../../../test/support/api.ts';
import { accept, addReceiver, HOOK, newEvent } from '../../../test/support/deliveries.ts';

/** Events with a delivery each, spread evenly over a time, as the service would have stored them. */

const ROWS_AT_A_TIME = 250_000;
const BODY_BYTES = 500;
/** One delivery in so many had two attempts, and another one failed. */
const RETRIED = 10;
const FAILED = 50;
const PER_BLOCK = 32;

export type Filling = {
  readonly deliveries: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly tenants: readonly Tenant[];
  /** Whether senders chose ids for their events. */
  readonly isNamed: boolean;
};

/** Each has one webhook and one endpoint, which both have the number 1. */
export async function addTenants(db: Database, count: number): Promise<Tenant[]> {
  const tenants: Tenant[] = [];
  for (let index = 0; index < count; index++) {
    const tenant = await createTenant(db);
    await addReceiver(db, tenant.entityId, HOOK);
    // The first event makes the head of the webhook's queue and its endpoint.
    await accept(db, newEvent(tenant.entityId));
    tenants.push(tenant);
  }
  await db.transaction(async (queries) => {
    await queries.run('update endpoints set no = 1');
    for (const table of ['queue_heads', 'queue', 'endpoint_sequences']) {
      await queries.run(`update ${table} set endpoint_no = 1`);
    }
  });
  return tenants;
}

export async function fill(db: Database, client: SQL, { deliveries, fromMs, toMs, tenants, isNamed }: Filling) {
  const keys = tenants.map(({ entityId }) => `'${entityKey(db.dialect, entityId)}'`).join(',');
  const stepMs = (toMs - fromMs) / deliveries;
  const digits = `lpad(to_hex(ms), 12, '0') || '7' || lpad(to_hex(g % 4096), 3, '0') || '8' || left(md5(cast(g as text)), 11)`;
  for (let from = 0; from < deliveries; from += ROWS_AT_A_TIME) {
    const to = Math.min(deliveries, from + ROWS_AT_A_TIME) - 1;
    const numbered = `(select g, cast(${fromMs} + g * cast(${stepMs} as double precision) as bigint) as ms,
      (cast(array[${keys}] as uuid[]))[1 + g % ${tenants.length}] as entity from generate_series(${from}, ${to}) g) n`;
    await client.unsafe(
      `insert into events (entity_id, no, network_id, created_at_ms, deliveries, event, event_id, body)
       select entity, cast(${digits} || '0000' as uuid), 1, ms, 1, 'AgreementCreated',
         ${isNamed ? `'event-' || ms || '-' || g` : 'null'}, repeat('x', ${BODY_BYTES}) from ${numbered}`,
    );
    await client.unsafe(
      `insert into deliveries (entity_id, id, webhook_no, endpoint_no, created_at_ms, ended_at_ms, started_at_ms, sequence,
         duration_ms, attempts, status, status_code)
       select entity, cast(${digits} || '0001' as uuid), 1, 1, ms, ms + 30, ms + 5, 1 + g / ${tenants.length}, 20,
         case when g % ${RETRIED} = 0 then 2 else 1 end, case when g % ${FAILED} = 0 then 2 else 1 end, 200 from ${numbered}`,
    );
    await client.unsafe(
      `insert into attempts (entity_id, delivery_id, started_at_ms, duration_ms, attempt, status_code, kind, post_url)
       select entity, cast(${digits} || '0001' as uuid), ms, 20, a, 500, 'first', '${HOOK}'
       from ${numbered} cross join generate_series(1, 2) a where g % ${RETRIED} = 0`,
    );
  }
  if (isNamed) {
    await client.unsafe(
      `insert into event_ids (entity_id, hash, no) select entity_id,
         cast(left(encode(sha256(convert_to(event_id, 'UTF8')), 'hex'), 32) as uuid), no from events where event_id is not null`,
    );
  }
  await count(client, fromMs);
}

async function count(client: SQL, fromMs: number): Promise<void> {
  await client.unsafe(
    `insert into endpoint_numbers (entity_id, endpoint_no, first_sequence, ids)
     select entity_id, 1, 1 + (sequence - 1) / ${PER_BLOCK} * ${PER_BLOCK},
       string_agg(replace(cast(id as text), '-', ''), '' order by sequence) from deliveries
     where created_at_ms >= ${fromMs} group by entity_id, (sequence - 1) / ${PER_BLOCK} on conflict do nothing`,
  );
  await client.unsafe(
    `insert into endpoint_sequences (entity_id, endpoint_no, first_sequence, last_sequence, recent)
     select entity_id, 1, 1, max(sequence), '' from deliveries group by entity_id
     on conflict (entity_id, endpoint_no) do update set last_sequence = excluded.last_sequence`,
  );
  const totals = `count(*), count(*) filter (where status = 1), count(*) filter (where status = 2), 0, 0`;
  for (const [webhook, bucketMs] of [
    [WHOLE_ENTITY, ENTITY_BUCKET_MS],
    [1, WEBHOOK_BUCKET_MS],
  ]) {
    await client.unsafe(
      `insert into delivery_counts (entity_id, webhook_no, bucket, shard, created, delivered, failed, cancelled, superseded)
       select entity_id, ${webhook}, created_at_ms / ${bucketMs}, 0, ${totals} from deliveries group by 1, 3
       on conflict (entity_id, webhook_no, bucket, shard) do nothing`,
    );
  }
  await client.unsafe(
    `insert into event_counts (entity_id, network_id, event, bucket, shard, events)
     select entity_id, network_id, event, created_at_ms / ${EVENT_BUCKET_MS}, 0, count(*) from events group by 1, 2, 3, 4
     on conflict do nothing`,
  );
  await client.unsafe(
    `insert into event_day_counts (entity_id, bucket, shard, events)
     select entity_id, created_at_ms / ${EVENT_DAY_MS}, 0, count(*) from events group by 1, 2 on conflict do nothing`,
  );
  await client.unsafe(
    `insert into queue_counts (entity_id, webhook_no, shard, waiting, retrying, stored_bytes)
     select entity_id, ${WHOLE_ENTITY}, 0, 0, 0, sum(bytes) from (
       select entity_id, ${STORED_BYTES.event} as bytes from events
       union all select entity_id, ${STORED_BYTES.record} from deliveries
       union all select entity_id, ${STORED_BYTES.attempt} from attempts) s group by entity_id on conflict do nothing`,
  );
  await client.unsafe('analyze');
}
