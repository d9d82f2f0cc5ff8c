import { hostOf } from '../../domain/post-url.ts';
import type { Dialect, Queries, SqlValue } from '../database/database.ts';
import { Columns, chunks, entityKey, integer, nullable, text, valuesList } from '../database/sql.ts';

/** The endpoints whose settings the heads of webhooks copy. An endpoint is made with the first webhook of its URL. */

/** Large enough that two of an entity's endpoints never draw the same number. */
const MAX_ENDPOINT_NO = Number.MAX_SAFE_INTEGER;

type Url = { readonly entityId: string; readonly postUrl: string };

export function urlKey({ entityId, postUrl }: Url): string {
  return `${entityId} ${postUrl}`;
}

/** Settings that a head copies from the endpoint of its webhook. `ordering` is 0 for none and 1 for agreement. */
export type EndpointOfHead = {
  readonly no: number;
  readonly isPaused: boolean;
  readonly ordering: number;
  readonly rateLimit: number | null;
};

export const NO_ENDPOINT: EndpointOfHead = { no: 0, isPaused: false, ordering: 0, rateLimit: null };

const endpointColumns = new Columns({
  entity: text('e.entity_id'),
  no: integer('e.no'),
  postUrl: text('e.post_url'),
  pausedAtMs: nullable(integer('e.paused_at_ms')),
  ordering: integer('e.ordering'),
  rateLimit: nullable(integer('e.rate_limit')),
});

/** Returns the endpoints of these URLs, and makes the missing ones. */
export async function ensureEndpoints(
  queries: Queries,
  dialect: Dialect,
  urls: readonly Url[],
  nowMs: number,
): Promise<Map<string, EndpointOfHead>> {
  const found = new Map<string, EndpointOfHead>();
  const distinct = [...new Map(urls.map((url) => [urlKey(url), url])).values()];
  distinct.sort((a, b) => (urlKey(a) < urlKey(b) ? -1 : 1));
  for (const chunk of chunks(distinct)) {
    await findEndpoints(queries, dialect, chunk, found);
    const missing = chunk.filter((url) => !found.has(urlKey(url)));
    if (missing.length === 0) continue;
    await queries.run(
      `insert into endpoints (entity_id, no, post_url, host, created_at_ms) values ${valuesList(missing.length, 5)}
       on conflict (entity_id, post_url, removed_ms) do nothing`,
      missing.flatMap(({ entityId, postUrl }): SqlValue[] => [
        entityKey(dialect, entityId),
        Math.floor(Math.random() * MAX_ENDPOINT_NO),
        postUrl,
        hostOf(postUrl),
        nowMs,
      ]),
    );
    await findEndpoints(queries, dialect, missing, found);
  }
  return found;
}

/** Adds the existing endpoints to `found`, by `urlKey`. */
async function findEndpoints(
  queries: Queries,
  dialect: Dialect,
  urls: readonly Url[],
  found: Map<string, EndpointOfHead>,
): Promise<void> {
  const key = { entity_id: 'u.entity_id', post_url: 'u.post_url', removed_ms: '0' };
  const rows = await endpointColumns.all(
    queries,
    `with urls (entity_id, post_url) as (values ${valuesList(urls.length, 2, 0, [dialect.uuid, 'text'])})
     select ${endpointColumns.list} from urls u ${dialect.lookUp('cross join', 'endpoints', 'e', key)}`,
    urls.flatMap(({ entityId, postUrl }): SqlValue[] => [entityKey(dialect, entityId), postUrl]),
  );
  const byKey = new Map(rows.map((row) => [`${dialect.hexOf(row.entity)} ${row.postUrl}`, row]));
  for (const url of urls) {
    const row = byKey.get(`${dialect.hexOf(entityKey(dialect, url.entityId))} ${url.postUrl}`);
    if (row === undefined) continue;
    const { no, pausedAtMs, ordering, rateLimit } = row;
    found.set(urlKey(url), { no, isPaused: pausedAtMs !== null, ordering, rateLimit });
  }
}
