import type { Dialect, Queries, SqlValue } from '../../database.ts';
import { Tally } from './counts.ts';
import { type EventNumbers, IN_PAGE, pagesOf, requireAll } from './events.ts';
import { HEAD_KEY, HeadConverter } from './heads.ts';

const CODE = `case d.status when 'delivered' then 1 when 'failed' then 2 when 'cancelled' then 3 end`;
const IS_WAITING = `d.status in ('pending', 'retrying', 'held')`;
const IS_QUEUED = `(${IS_WAITING} or d.due_ms is not null)`;

export async function convertDeliveries(queries: Queries, dialect: Dialect, numbers: EventNumbers): Promise<void> {
  const heads = new HeadConverter(queries, dialect, IN_PAGE);
  const counts = new DeliveryCounts(queries, dialect);
  const { toQueue, toRecord, toAttempts } = copies(dialect);
  for await (const { rows, range } of pagesOf(queries, 'old_deliveries')) {
    await heads.addPage(range);
    await numbers.addMissing(range);
    const queued = await queries.run(toQueue, range);
    const recorded = await queries.run(toRecord, range);
    requireAll('deliveries', rows.length, queued + recorded);
    await queries.run(toAttempts, range);
    await counts.addPage(range);
  }
  await heads.addFailing();
  await counts.write();
}

/** When the next attempt may start: a lease is apart now, and one that was asked for does not wait for the schedule. */
const DUE_MS = `case when d.redeliver > 0 and d.claimed = 1 then d.created_at_ms
    when d.redeliver > 0 then coalesce(d.due_ms, d.created_at_ms)
    else coalesce(d.next_attempt_ms, d.created_at_ms) end`;

/** The only attempt of a delivery is part of its record, unless its kind would be lost there. */
const IS_ONLY = `d.attempts = 1 and a.attempt = 1 and a.kind in ('first', 'test')`;

/** Deliveries with the key of their entity and the number of their head. */
function withHead({ lookUp }: Dialect): string {
  return `from old_deliveries d ${lookUp('cross join', 'old_entities', 'k', { id: 'd.entity_id' })}
    ${lookUp('cross join', 'old_heads', 'h', HEAD_KEY)}`;
}

function copies(dialect: Dialect): Record<'toQueue' | 'toRecord' | 'toAttempts', string> {
  const { uuidFromHex, lookUp } = dialect;
  const id = uuidFromHex('substr(d.id, 5)');
  const redelivery = uuidFromHex('substr(d.redelivery_id, 5)');
  const from = `${withHead(dialect)}
    ${lookUp('cross join', 'endpoints', 'u', { entity_id: 'k.key', post_url: 'd.post_url' })}
    ${lookUp('cross join', 'old_event_numbers', 'm', { entity_id: 'd.entity_id', id: 'd.event_id' })}`;
  const isTest = `case when exists (select 1 from old_attempts t where t.entity_id = d.entity_id and t.delivery_id = d.id
    and t.kind = 'test') then 1 end`;
  return {
    // What was held starts its schedule again, as it would have after a resume.
    toQueue: `insert into queue (entity_id, id, webhook_no, endpoint_no, created_at_ms, due_ms, lease_ms, scheduled_ms,
        ended_at_ms, event_no, redelivery_id, generation, token, attempts, steps, redeliver, recorded, test, status_code,
        error)
      select k.key, ${id}, h.webhook_no, u.no, d.created_at_ms, ${DUE_MS},
        case when d.claimed = 1 then coalesce(d.due_ms, 0) else 0 end,
        case when d.redeliver > 0 and ${IS_WAITING} then d.next_attempt_ms end,
        d.delivered_at_ms, m.no, ${redelivery}, 0, d.claim_token, d.attempts,
        case when d.status = 'held' then 0 else d.steps end, d.redeliver, ${CODE}, ${isTest}, d.last_status_code,
        d.last_error
      ${from} where ${IN_PAGE} and ${IS_QUEUED}`,
    toRecord: `insert into deliveries (entity_id, id, webhook_no, endpoint_no, created_at_ms, ended_at_ms, started_at_ms,
        event_no, redelivery_id, duration_ms, attempts, status, status_code, test, error, response)
      select k.key, ${id}, h.webhook_no, u.no, d.created_at_ms, d.delivered_at_ms, a.started_at_ms, m.no, ${redelivery},
        a.duration_ms, d.attempts, ${CODE}, d.last_status_code, ${isTest}, d.last_error, a.response
      ${from}
      left join old_attempts a on a.entity_id = d.entity_id and a.delivery_id = d.id and ${IS_ONLY}
      where ${IN_PAGE} and not ${IS_QUEUED}`,
    toAttempts: `insert into attempts (entity_id, delivery_id, started_at_ms, duration_ms, attempt, status_code, kind,
        post_url, error, response)
      select k.key, ${id}, a.started_at_ms, a.duration_ms, a.attempt, a.status_code, a.kind, a.post_url, a.error,
        a.response
      from old_deliveries d ${lookUp('cross join', 'old_entities', 'k', { id: 'd.entity_id' })}
      join old_attempts a on a.entity_id = d.entity_id and a.delivery_id = d.id
      where ${IN_PAGE} and (${IS_QUEUED} or not (${IS_ONLY}))`,
  };
}

const STATUSES = ['delivered', 'failed', 'cancelled', 'superseded'] as const;
/** Deliveries are counted by the time in their ids: an entity's in ten minutes, a webhook's in a day. */
const ENTITY_BUCKET_MS = 600_000;
const BUCKETS_PER_DAY = 144;
const WHOLE_ENTITY = 0;

class DeliveryCounts {
  readonly #queue: Tally;
  readonly #deliveries: Tally;
  readonly #pageText: string;

  constructor(
    private readonly queries: Queries,
    dialect: Dialect,
  ) {
    const { uuidFromHex, timeOfUuid } = dialect;
    this.#queue = new Tally(queries, 'queue_counts', ['entity_id', 'webhook_no'], ['waiting', 'retrying']);
    const keys = ['entity_id', 'webhook_no', 'bucket'];
    this.#deliveries = new Tally(queries, 'delivery_counts', keys, ['created', ...STATUSES]);
    const count = (condition: string, name: string) => `sum(case when ${condition} then 1 else 0 end) as ${name}`;
    this.#pageText = `select k.key as entity_id, h.webhook_no,
        ${timeOfUuid(uuidFromHex('substr(d.id, 5)'))} / ${ENTITY_BUCKET_MS} as bucket, count(*) as created,
        ${STATUSES.map((status) => count(`d.status = '${status}'`, status)).join(', ')},
        ${count(IS_WAITING, 'waiting')}, ${count(`${IS_WAITING} and d.attempts > 0`, 'retrying')}
      ${withHead(dialect)} where ${IN_PAGE} group by 1, 2, 3`;
  }

  async addPage(range: readonly SqlValue[]): Promise<void> {
    const rows = await this.queries.all<Record<string, SqlValue>>(this.#pageText, range);
    await this.#queue.add(rows);
    await this.#deliveries.add(rows.map((row) => ({ ...row, webhook_no: WHOLE_ENTITY })));
    await this.#deliveries.add(
      rows.map((row) => ({ ...row, bucket: Math.floor(Number(row.bucket) / BUCKETS_PER_DAY) })),
    );
  }

  async write(): Promise<void> {
    await this.#queue.write();
    await this.#deliveries.write();
  }
}
