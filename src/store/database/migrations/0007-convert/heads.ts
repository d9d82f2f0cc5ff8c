import { destinationKey } from '../../../../domain/post-url.ts';
import type { Dialect, Queries, SqlInteger, SqlUuid, SqlValue } from '../../database.ts';
import { chunks, valuesList } from '../../sql.ts';

/** Webhooks that are gone have no creation sequence: their numbers begin where none of those ever gets to. */
const FIRST_DELETED_NO = 2 ** 52;

const SUSPENDED = 1;
const DELETED = 4;

/** What alerts had in place of a webhook's id, and their kind of event. */
const ALERT_WEBHOOK = 'notice';
const ALERT_EVENT = 'webhook.suspended';

/** Which head has the deliveries of a webhook; one that was imported again under its id may differ in the rest. */
export const HEAD_TABLES = [
  `create table old_heads (entity_id text collate "binary" not null, webhook_id text collate "binary" not null,
     network_id bigint not null, event text collate "binary" not null, webhook_no bigint not null,
     primary key (entity_id, webhook_id, network_id, event))`,
];

/** Where the head of a delivery `d` is found. */
export const HEAD_KEY = {
  entity_id: 'd.entity_id',
  webhook_id: 'd.webhook_id',
  network_id: 'd.network_id',
  event: 'd.event',
} as const;

/** A webhook as deliveries name it, and as it is now: null where it is gone. */
type HeadRow = {
  entity_id: string;
  key: SqlUuid;
  webhook_id: string;
  network_id: SqlInteger;
  event: string;
  last_url: string;
  created_seq: SqlInteger | null;
  webhook_network_id: SqlInteger | null;
  webhook_event: string | null;
  post_url: string | null;
  notice_url: string | null;
  suspended_at: SqlInteger | null;
  failing_since_ms: SqlInteger | null;
};

type Head = {
  entityId: string;
  key: SqlUuid;
  webhookNo: number;
  networkId: number;
  event: string;
  postUrl: string;
  blocked: number;
  failingSinceMs: number | null;
  row: HeadRow;
};

const HEADS_PER_PAGE = 1_000;

/** Makes heads and endpoints as deliveries come to name them. Webhooks without deliveries get theirs with the first event. */
export class HeadConverter {
  #deleted = 0;
  #endpoints = 0;
  readonly #newHeads: string;

  constructor(
    private readonly queries: Queries,
    private readonly dialect: Dialect,
    private readonly inPage: string,
  ) {
    const { lookUp } = dialect;
    this.#newHeads = `select d.entity_id, k.key, d.webhook_id, d.network_id, d.event, min(d.post_url) as last_url,
        w.created_seq, w.network_id as webhook_network_id, w.event as webhook_event, w.post_url, w.suspended_at,
        w.old_failing_since_ms as failing_since_ms, n.notice_url
      from old_deliveries d ${lookUp('cross join', 'old_entities', 'k', { id: 'd.entity_id' })}
      ${lookUp('cross join', 'entities', 'n', { id: 'd.entity_id' })}
      ${lookUp('left join', 'old_heads', 'h', HEAD_KEY)}
      left join webhooks w on w.entity_id = d.entity_id and w.id = d.webhook_id
        and ((w.network_id = d.network_id and w.event = d.event) or d.event = '')
      where ${inPage} and h.webhook_no is null
      group by d.entity_id, k.key, d.webhook_id, d.network_id, d.event, w.created_seq, w.network_id, w.event, w.post_url,
        w.suspended_at, w.old_failing_since_ms, n.notice_url`;
  }

  /** For the deliveries of a page. */
  async addPage(range: readonly SqlValue[]): Promise<void> {
    const { lookUp } = this.dialect;
    const urls = await this.queries.all<{ key: SqlUuid; post_url: string }>(
      `select distinct k.key, d.post_url from old_deliveries d
       ${lookUp('cross join', 'old_entities', 'k', { id: 'd.entity_id' })}
       ${lookUp('left join', 'endpoints', 'u', { entity_id: 'k.key', post_url: 'd.post_url' })}
       where ${this.inPage} and u.no is null`,
      range,
    );
    await this.#addEndpoints(urls.map(({ key, post_url: postUrl }) => ({ key, postUrl })));
    const rows = await this.queries.all<HeadRow>(this.#newHeads, range);
    for (const chunk of chunks(rows)) {
      const heads = chunk.map((row) => this.#toHead(row));
      await this.queries.run(
        `insert into old_heads (entity_id, webhook_id, network_id, event, webhook_no) values ${valuesList(chunk.length, 5)}`,
        heads.flatMap(({ entityId, webhookNo, row }): SqlValue[] => [
          ...[entityId, row.webhook_id, Number(row.network_id), row.event, webhookNo],
        ]),
      );
      await this.#insertHeads(heads);
    }
  }

  /** Since when a webhook has been failing is kept in its head, also where no delivery is left of it. */
  async addFailing(): Promise<void> {
    for (;;) {
      const rows = await this.queries.all<HeadRow>(
        `select w.entity_id, k.key, w.id as webhook_id, w.network_id, w.event, w.post_url as last_url, w.created_seq,
           w.network_id as webhook_network_id, w.event as webhook_event, w.post_url, w.suspended_at,
           w.old_failing_since_ms as failing_since_ms, null as notice_url
         from webhooks w join old_entities k on k.id = w.entity_id
         left join queue_heads h on h.entity_id = k.key and h.webhook_no = w.created_seq
         where w.old_failing_since_ms is not null and h.webhook_no is null limit ${HEADS_PER_PAGE}`,
      );
      if (rows.length === 0) return;
      for (const chunk of chunks(rows)) await this.#insertHeads(chunk.map((row) => this.#toHead(row)));
    }
  }

  #toHead(row: HeadRow): Head {
    const networkId = Number(row.webhook_network_id ?? row.network_id);
    const isAlert = row.webhook_id === ALERT_WEBHOOK && row.event === ALERT_EVENT && row.created_seq === null;
    const postUrl = isAlert ? row.notice_url : row.post_url;
    const deletedNo = () => FIRST_DELETED_NO + ++this.#deleted;
    return {
      entityId: row.entity_id,
      key: row.key,
      webhookNo: isAlert ? -1 - networkId : Number(row.created_seq ?? deletedNo()),
      networkId,
      event: row.webhook_event ?? row.event,
      postUrl: postUrl ?? row.last_url,
      blocked: postUrl === null ? DELETED : row.suspended_at === null ? 0 : SUSPENDED,
      failingSinceMs: row.failing_since_ms === null ? null : Number(row.failing_since_ms),
      row,
    };
  }

  async #addEndpoints(urls: readonly { key: SqlUuid; postUrl: string }[]): Promise<void> {
    for (const chunk of chunks(urls)) {
      await this.queries.run(
        `insert into endpoints (entity_id, no, post_url, created_at_ms)
         values ${valuesList(chunk.length, 4)} on conflict (entity_id, post_url) do nothing`,
        chunk.flatMap(({ key, postUrl }): SqlValue[] => [key, ++this.#endpoints, postUrl, 0]),
      );
    }
  }

  /** A head that is there already is that of the same webhook under a name from before deliveries knew their event. */
  async #insertHeads(heads: readonly Head[]): Promise<void> {
    const { uuid, nowMs } = this.dialect;
    await this.#addEndpoints(heads);
    const types = [uuid, 'bigint', 'text', 'bigint', 'text', 'text', 'text', 'bigint', 'bigint'];
    await this.queries.run(
      `with made (entity_id, webhook_no, webhook_id, network_id, event, destination, post_url, blocked,
           failing_since_ms) as (values ${valuesList(heads.length, types.length, 0, types)})
       insert into queue_heads (entity_id, webhook_no, webhook_id, network_id, event, endpoint_no, destination, post_url,
         next_due_ms, blocked, deleted_at_ms, failing_since_ms)
       select made.entity_id, made.webhook_no, made.webhook_id, made.network_id, made.event, u.no, made.destination,
         made.post_url, ${nowMs}, made.blocked, case when made.blocked = ${DELETED} then ${nowMs} end,
         made.failing_since_ms
       from made join endpoints u on u.entity_id = made.entity_id and u.post_url = made.post_url
       where 1 = 1 on conflict (entity_id, webhook_no) do nothing`,
      heads.flatMap(({ key, webhookNo, networkId, event, entityId, postUrl, blocked, failingSinceMs, row }) => [
        ...[key, webhookNo, row.webhook_id, networkId, event, destinationKey(entityId, postUrl), postUrl],
        ...[blocked, failingSinceMs],
      ]),
    );
  }
}
