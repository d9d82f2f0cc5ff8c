import type { Database, SqlValue } from '../../src/store/database/database.ts';
import { entityKey } from '../../src/store/database/sql.ts';
import { ENTITY_BUCKET_MS, WEBHOOK_BUCKET_MS, WHOLE_ENTITY } from '../../src/store/deliveries/counts/counts.ts';
import { EVENT_BUCKET_MS, EVENT_DAY_MS } from '../../src/store/deliveries/counts/event-counts.ts';
import { changeHeads, type HeadTarget, makeHeads } from '../../src/store/deliveries/heads.ts';

/**
 * Fills one entity with deliveries of thirty days by SQL that makes the rows from a series of numbers: to a hundred webhooks
 * (ten networks, five events, two URLs) unless others are given, of which the first has most.
 */

export const EVENTS = ['LatePayment', 'TransferCreated', 'TransferFinalized', 'TransferProcessed', 'AgreementSignedUp'];
export const NETWORKS = [1, 10, 56, 137, 900, 8453, 42161, 42220, 100, 250];
const WEBHOOKS = 100;
const DAYS = 30;
export const DAY_MS = 86_400_000;
const ROWS_PER_INSERT = 100_000;

/** Six in ten deliveries are to the first webhook, one in ten to the second, and the rest is spread. */
export const BUSIEST = 1;
/** Half of its time it worked; since then everything that is sent to it fails. */
export const BROKEN = 2;
export const QUIET = 77;
export function webhookId(webhookNo: number): string {
  return `wh_${webhookNo.toString(16).padStart(32, '0')}`;
}

function heads(entityId: string): HeadTarget[] {
  return Array.from({ length: WEBHOOKS }, (_, index) => ({
    entityId,
    webhookNo: index + 1,
    webhookId: webhookId(index + 1),
    networkId: NETWORKS[index % NETWORKS.length] ?? 1,
    event: EVENTS[Math.floor(index / NETWORKS.length) % EVENTS.length] ?? '',
    postUrl: `https://shop.example.com/hooks/${index % 2}`,
  }));
}

export type Filled = { readonly firstMs: number; readonly endMs: number };

export async function fillDeliveries(
  db: Database,
  entityId: string,
  count: number,
  progress: (done: number) => void,
  waitingPerMille = 20,
  /** Numbered from 1. The deliveries that wait for the last one are held. */
  targets: readonly HeadTarget[] = heads(entityId),
): Promise<Filled> {
  const endMs = Math.floor(Date.now() / 1000) * 1000;
  const firstMs = endMs - DAYS * DAY_MS;
  await db.transaction(async (queries) => {
    await makeHeads(queries, db.dialect, targets, endMs);
    await changeHeads(queries, db.dialect, 'suspend', targets.slice(-1), endMs);
  });
  for (let from = 0; from < count; from += ROWS_PER_INSERT) {
    const to = Math.min(from + ROWS_PER_INSERT, count);
    const stepMs = (DAYS * DAY_MS) / count;
    const brokenFrom = count / 2;
    const series = { from, to, firstMs, stepMs, brokenFrom, waitingPerMille, webhooks: targets.length };
    await db.transaction(
      async (queries) => {
        for (const statement of db.dialect.allowLongTransaction) await queries.run(statement);
        for (const sql of insertTexts(db, series)) await queries.run(sql, [entityKey(db.dialect, entityId)]);
      },
      { deadlineMs: 600_000 },
    );
    progress(to);
  }
  await fillCounters(db, entityId);
  return { firstMs, endMs };
}

type Series = {
  from: number;
  to: number;
  firstMs: number;
  stepMs: number;
  brokenFrom: number;
  waitingPerMille: number;
  webhooks: number;
};

/** `i` numbers the deliveries; `m` is the thousandth part that decides the status, `r` a number that looks random. */
function insertTexts({ engine }: Database, series: Series): string[] {
  const { from, to, firstMs, stepMs, brokenFrom, waitingPerMille, webhooks } = series;
  const isSqlite = engine === 'sqlite';
  const hex = (value: string, digits: number) =>
    isSqlite ? `printf('%0${digits}x', ${value})` : `lpad(to_hex(cast(${value} as bigint)), ${digits}, '0')`;
  const numbers = isSqlite
    ? `recursive s (i) as (select ${from} union all select i + 1 from s where i + 1 < ${to})`
    : `s (i) as (select cast(i as bigint) from generate_series(${from}, ${to - 1}) as g(i))`;
  const webhook = `case when i % 1000 >= 995 then ${webhooks} when r < 60 then ${BUSIEST} when r < 70 then ${BROKEN}
    else 3 + (i / 7) % ${webhooks - 3} end`;
  const endpoint = '(select h.endpoint_no from queue_heads h where h.entity_id = $1 and h.webhook_no = d.webhook_no)';
  const id = (index: number) => {
    const event = `${hex('ms', 12)} || '70008' || ${hex(`i % ${2 ** 20}`, 5)} || '00'`;
    const digits = `${event} || ${index === 0 ? "'00000000'" : hex('webhook_no', 8)}`;
    return isSqlite ? `unhex(${digits})` : `cast(${digits} as uuid)`;
  };
  const status = `case when webhook_no = ${BROKEN} and i >= ${brokenFrom} then 2 when m >= ${1_000 - waitingPerMille} then 0
    when m < 940 then 1 when m < 970 then 2 else 3 end`;
  const rows = `with ${numbers},
    n as (select i, i % 1000 as m, (i * 7919) % 100 as r, cast(${firstMs} + i * ${stepMs} as bigint) as ms from s),
    w as (select n.*, ${webhook} as webhook_no from n),
    d as (select w.*, ${id(0)} as no, ${id(1)} as id, ${status} as status from w)`;
  const insert = (into: string, select: string) => `insert into ${into} ${rows} ${select}`;
  return [
    insert(
      'deliveries (entity_id, id, webhook_no, endpoint_no, created_at_ms, ended_at_ms, started_at_ms, duration_ms, attempts, status, status_code)',
      `select $1, id, webhook_no, ${endpoint}, ms, case when status = 1 then ms + 80 end, ms + 10, 70, 1, status,
         case when status = 1 then 200 else 500 end from d where status <> 0`,
    ),
    insert(
      'queue (entity_id, id, webhook_no, endpoint_no, created_at_ms, due_ms, generation, attempts, steps)',
      `select $1, id, webhook_no, ${endpoint}, ms, ${firstMs} + ${DAYS * DAY_MS} + (i * 7919) % 3600000, 0,
         case when m >= 990 and m < 995 then 2 else 0 end, 0 from d where status = 0`,
    ),
    insert(
      'events (entity_id, no, network_id, created_at_ms, deliveries, event, event_id, body)',
      `select $1, no, h.network_id, ms, 1, h.event, null,
         '{"event":"' || h.event || '","networkId":' || h.network_id || ',"memo":"' || ${hex('i', 200)} || '"}'
       from d cross join queue_heads h where h.entity_id = $1 and h.webhook_no = d.webhook_no`,
    ),
  ];
}

async function fillCounters(db: Database, entityId: string): Promise<void> {
  const entity: SqlValue[] = [entityKey(db.dialect, entityId)];
  const statuses = [1, 2, 3, 4].map((code) => `sum(case when status = ${code} then 1 else 0 end)`).join(', ');
  const all = `(select webhook_no, created_at_ms, status from deliveries where entity_id = $1
    union all select webhook_no, created_at_ms, 0 from queue where entity_id = $1) d`;
  const counted = (webhookNo: string, bucketMs: number) =>
    `insert into delivery_counts (entity_id, webhook_no, bucket, shard, created, delivered, failed, cancelled, superseded)
     select $1, ${webhookNo}, created_at_ms / ${bucketMs}, 0, count(*), ${statuses} from ${all} group by 2, 3`;
  await db.transaction(
    async (queries) => {
      for (const statement of db.dialect.allowLongTransaction) await queries.run(statement);
      await queries.run(counted(String(WHOLE_ENTITY), ENTITY_BUCKET_MS), entity);
      await queries.run(counted('webhook_no', WEBHOOK_BUCKET_MS), entity);
      await queries.run(
        `insert into queue_counts (entity_id, webhook_no, shard, waiting, retrying)
         select $1, webhook_no, 0, count(*), sum(case when attempts > 0 then 1 else 0 end) from queue
         where entity_id = $1 group by webhook_no`,
        entity,
      );
      await queries.run(
        `insert into event_counts (entity_id, network_id, event, bucket, shard, events)
         select $1, network_id, event, created_at_ms / ${EVENT_BUCKET_MS}, 0, count(*) from events where entity_id = $1
         group by network_id, event, created_at_ms / ${EVENT_BUCKET_MS}`,
        entity,
      );
      await queries.run(
        `insert into event_day_counts (entity_id, bucket, shard, events)
         select $1, created_at_ms / ${EVENT_DAY_MS}, 0, count(*) from events where entity_id = $1 group by created_at_ms / ${EVENT_DAY_MS}`,
        entity,
      );
    },
    { deadlineMs: 600_000 },
  );
}
