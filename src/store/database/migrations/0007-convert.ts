import type { Dialect, Queries, SqlInteger, SqlUuid, SqlValue } from '../database.ts';
import { chunks, valuesList } from '../sql.ts';
import { Tally } from './0007-convert-counts.ts';
import { HEAD_KEY, HEAD_TABLES, HeadConverter } from './0007-convert-heads.ts';

/**
 * Copies the deliveries of a store from before the queue was parted from the record. Every id stays as callers know it;
 * a delivery whose id does not begin with its event's number names that number in `event_no`. Rows are copied a page at a
 * time in the order of their creation, so that memory does not grow with the store.
 */
export async function convertStore(queries: Queries, dialect: Dialect): Promise<void> {
  // The tables are new, and no statistics tell the planner how a page of them is found.
  await queries.get(dialect.planForClaims);
  for (const sql of [...helperTables(dialect), ...HEAD_TABLES]) await queries.run(sql);
  await nameEntities(queries, dialect);
  await moveCursors(queries);
  const numbers = new EventNumbers(queries, dialect);
  await convertEvents(queries, dialect, numbers);
  await convertDeliveries(queries, dialect, numbers);
  await queries.run(COUNT_STORED_BYTES);
  for (const sql of REMOVALS) await queries.run(sql);
}

/** The collation is that of the columns that these are joined with: without it PostgreSQL does not use their indexes. */
function helperTables({ uuid }: Dialect): string[] {
  return [
    `create table old_entities (id text collate "binary" primary key, key ${uuid} not null)`,
    `create table old_event_numbers (entity_id text collate "binary" not null, id text collate "binary" not null,
       no ${uuid} not null, primary key (entity_id, id))`,
  ];
}

const REMOVALS = [
  ...['attempts', 'deliveries', 'events', 'event_numbers', 'heads', 'entities'].map((name) => `drop table old_${name}`),
  'alter table webhooks drop column old_failing_since_ms',
];

const ROWS_PER_PAGE = 1_000;

async function nameEntities(queries: Queries, { bindUuid }: Dialect): Promise<void> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page: { id: string }[] = await queries.all(
      `select id from entities where id > $1 order by id limit ${ROWS_PER_PAGE}`,
      [after],
    );
    for (const chunk of chunks(page)) {
      const values = chunk.flatMap(({ id }): SqlValue[] => [id, bindUuid(entityHex(id))]);
      await queries.run(`insert into old_entities (id, key) values ${valuesList(chunk.length, 2)}`, values);
    }
    after = page.at(-1)?.id;
  }
}

/** As the store makes keys today (`entityKey` and `eventIdKey`); kept apart, because a released migration never changes. */
function entityHex(id: string): string {
  return /^ent_[0-9a-f]{32}$/.test(id) ? id.slice('ent_'.length) : hash128(id);
}

function hash128(text: string): string {
  return Bun.SHA256.hash(text, 'hex').slice(0, 32);
}

type Place = { entity_id: string; created_at_ms: SqlInteger; id: string };
/** A page, and the parameters of `IN_PAGE`. */
type Page = { rows: Place[]; range: SqlValue[] };

const PLACE = '(d.entity_id, d.created_at_ms, d.id)';
const IN_PAGE = `${PLACE} > ($1, $2, $3) and ${PLACE} <= ($4, $5, $6)`;

async function* pagesOf(queries: Queries, table: 'old_events' | 'old_deliveries'): AsyncGenerator<Page> {
  let after: SqlValue[] = ['', 0, ''];
  for (;;) {
    const rows = await queries.all<Place>(
      `select d.entity_id, d.created_at_ms, d.id from ${table} d where ${PLACE} > ($1, $2, $3)
       order by d.entity_id, d.created_at_ms, d.id limit ${ROWS_PER_PAGE}`,
      after,
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    const until = [last.entity_id, Number(last.created_at_ms), last.id];
    yield { rows, range: [...after, ...until] };
    after = until;
  }
}

/** In the order of acceptance, so that the new numbers sort as the events did. */
class EventNumbers {
  #counter = 0;

  constructor(
    private readonly queries: Queries,
    private readonly dialect: Dialect,
  ) {}

  async addPage(events: readonly Place[]): Promise<void> {
    const { bindUuid } = this.dialect;
    for (const chunk of chunks(events)) {
      const numbered = chunk.map((row) => ({ ...row, no: bindUuid(this.#next(Number(row.created_at_ms))) }));
      await this.#insert(numbered);
      await this.queries.run(
        `insert into event_ids (entity_id, hash, no) values ${valuesList(chunk.length, 3)}`,
        numbered.flatMap(({ entity_id, id, no }): SqlValue[] => [
          bindUuid(entityHex(entity_id)),
          bindUuid(hash128(id)),
          no,
        ]),
      );
    }
  }

  /**
   * For deliveries whose event is gone. Their number shows as the same id, if that was one of Paybell's own; an id that
   * the sender had chosen went with the event.
   */
  async addMissing(range: readonly SqlValue[]): Promise<void> {
    const rows = await this.queries.all<Place>(
      `select d.entity_id, d.event_id as id, min(d.created_at_ms) as created_at_ms from old_deliveries d
       ${this.dialect.lookUp('left join', 'old_event_numbers', 'm', { entity_id: 'd.entity_id', id: 'd.event_id' })}
       where ${IN_PAGE} and m.no is null group by d.entity_id, d.event_id`,
      range,
    );
    for (const chunk of chunks(rows)) {
      await this.#insert(chunk.map((row) => ({ ...row, no: this.dialect.bindUuid(this.#numberOfMissing(row)) })));
    }
  }

  #numberOfMissing({ id, created_at_ms }: Place): string {
    return /^evt_[0-9a-f]{32}$/.test(id) ? id.slice('evt_'.length) : this.#next(Number(created_at_ms));
  }

  async #insert(numbered: readonly { entity_id: string; id: string; no: SqlUuid }[]): Promise<void> {
    await this.queries.run(
      `insert into old_event_numbers (entity_id, id, no) values ${valuesList(numbered.length, 3)}`,
      numbered.flatMap(({ entity_id, id, no }): SqlValue[] => [entity_id, id, no]),
    );
  }

  /** A UUIDv7 by form: the time, then a count in place of randomness, and sixteen zero bits. */
  #next(createdAtMs: number): string {
    const time = createdAtMs.toString(16).padStart(12, '0');
    return `${time}70008${(++this.#counter).toString(16).padStart(11, '0')}0000`;
  }
}

const EVENTS_BUCKET_MS = 3_600_000;

async function convertEvents(queries: Queries, { lookUp }: Dialect, numbers: EventNumbers): Promise<void> {
  const from = `from old_events d ${lookUp('cross join', 'old_entities', 'k', { id: 'd.entity_id' })}`;
  const counts = new Tally(queries, 'event_counts', ['entity_id', 'network_id', 'event', 'bucket'], ['events']);
  for await (const { rows, range } of pagesOf(queries, 'old_events')) {
    await numbers.addPage(rows);
    const copied = await queries.run(
      `insert into events (entity_id, no, network_id, created_at_ms, deliveries, event, event_id, body)
       select k.key, m.no, d.network_id, d.created_at_ms, d.deliveries, d.event, d.id, d.body ${from}
       ${lookUp('cross join', 'old_event_numbers', 'm', { entity_id: 'd.entity_id', id: 'd.id' })} where ${IN_PAGE}`,
      range,
    );
    requireAll('events', rows.length, copied);
    await counts.add(
      await queries.all(
        `select k.key as entity_id, d.network_id, d.event, d.created_at_ms / ${EVENTS_BUCKET_MS} as bucket,
           count(*) as events
         ${from} where ${IN_PAGE} group by 1, 2, 3, 4`,
        range,
      ),
    );
  }
  await counts.write();
}

/** Each table is summed up in the order of its primary key, so that nothing has to be sorted. */
const storedIn = (table: string, bytes: string) =>
  `select entity_id, sum(${bytes}) as bytes from ${table} group by entity_id`;

const COUNT_STORED_BYTES = `insert into queue_counts (entity_id, webhook_no, shard, waiting, retrying, stored_bytes)
  select entity_id, 0, 0, 0, 0, sum(bytes) from (
    ${storedIn('events', '150 + octet_length(body) + coalesce(octet_length(event_id), 0)')}
    union all ${storedIn('queue', '200')}
    union all ${storedIn('deliveries', '200 + coalesce(octet_length(response), 0)')}
    union all ${storedIn('attempts', '100 + octet_length(post_url) + coalesce(octet_length(response), 0)')}
  ) stored group by entity_id`;

/** A row that finds no entity or no head would be lost without a word. */
function requireAll(what: string, expected: number, copied: number): void {
  if (expected !== copied) throw new Error(`of ${expected} ${what} only ${copied} can be converted`);
}

const CODE = `case d.status when 'delivered' then 1 when 'failed' then 2 when 'cancelled' then 3 end`;
const IS_WAITING = `d.status in ('pending', 'retrying', 'held')`;
const IS_QUEUED = `(${IS_WAITING} or d.due_ms is not null)`;

async function convertDeliveries(queries: Queries, dialect: Dialect, numbers: EventNumbers): Promise<void> {
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

type Running = { entity_id: string; id: string; cursor_created_at_ms: SqlInteger; cursor_id: string };

/**
 * A bulk redelivery went on by date and then id, and goes on by id alone now. Where the two orders differ, its cursor goes
 * back behind the first delivery that it has not seen: one may be sent once more, and none is left out.
 */
async function moveCursors(queries: Queries): Promise<void> {
  const running = await queries.all<Running>(
    `select entity_id, id, cursor_created_at_ms, cursor_id from redeliveries where status = 'running' and cursor_id <> ''`,
  );
  for (const { entity_id, id, cursor_created_at_ms, cursor_id } of running) {
    const row = await queries.get<{ id: string | null }>(
      `select min(d.id) as id from old_deliveries d where d.entity_id = $1 and d.id < $3
         and (d.created_at_ms, d.id) > ($2, $3)`,
      [entity_id, Number(cursor_created_at_ms), cursor_id],
    );
    if (row?.id == null) continue;
    const before = (BigInt(`0x${row.id.slice('dlv_'.length)}`) - 1n).toString(16).padStart(32, '0');
    await queries.run('update redeliveries set cursor_id = $3 where entity_id = $1 and id = $2', [
      entity_id,
      id,
      `dlv_${before}`,
    ]);
  }
}
