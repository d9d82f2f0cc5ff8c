import { readNowMs } from '../database/clock.ts';
import type { Dialect, Queries } from '../database/database.ts';
import { Columns, chunks, entityKey, integer, Parameters } from '../database/sql.ts';
import { type EndpointOfHead, ensureEndpoints, urlKey } from '../deliveries/head-endpoints.ts';
import { type HeadTarget, makeHeads } from '../deliveries/heads.ts';
import { webhookTable } from '../tables.ts';

/**
 * Endpoints are made and removed with their webhooks, in the same transaction and under the same lock of the entity: a URL is
 * an endpoint from its first webhook to its last.
 */

/** Makes the endpoints of newly registered webhooks. */
export async function addEndpoints(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  postUrls: Iterable<string>,
): Promise<void> {
  const urls = [...new Set(postUrls)].map((postUrl) => ({ entityId, postUrl }));
  if (urls.length === 0) return;
  const nowMs = await readNowMs(queries, dialect);
  const endpoints = await ensureEndpoints(queries, dialect, urls, nowMs);
  for (const url of urls) {
    const endpoint = endpoints.get(urlKey(url));
    // Usually a webhook gets its head with its first event. If the endpoint has settings, the head must exist before, because
    // that event would otherwise ignore the settings.
    if (endpoint === undefined || !hasSettings(endpoint)) continue;
    await makeHeads(queries, dialect, await readTargets(queries, entityId, url.postUrl), nowMs);
  }
}

function hasSettings({ isPaused, ordering, rateLimit }: EndpointOfHead): boolean {
  return isPaused || ordering !== 0 || rateLimit !== null;
}

/** Removes the endpoints of URLs without webhooks, after webhooks were moved or deleted. */
export async function removeEmptyEndpoints(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  postUrls: Iterable<string>,
): Promise<void> {
  const nowMs = await readNowMs(queries, dialect);
  for (const chunk of chunks([...new Set(postUrls)])) {
    const parameters = new Parameters(entityKey(dialect, entityId), entityId, nowMs);
    // A later time than the removal of any former endpoint of the URL, because URL and time together are unique.
    const removed = await numberColumns.all(
      queries,
      `update endpoints set removed_ms = (
           select max(case when o.removed_ms >= $3 then o.removed_ms + 1 else $3 end) from endpoints o
           where o.entity_id = endpoints.entity_id and o.post_url = endpoints.post_url)
       where entity_id = $1 and removed_ms = 0 and post_url in ${parameters.list(chunk)}
         and not exists (select 1 from webhooks w where w.entity_id = $2 and w.post_url = endpoints.post_url)
       returning ${numberColumns.list}`,
      parameters.values,
    );
    for (const { no } of removed) await forgetCredentials(queries, entityId, no);
  }
}

const numberColumns = new Columns({ no: integer('no') });

async function forgetCredentials(queries: Queries, entityId: string, endpointNo: number): Promise<void> {
  await queries.run('delete from endpoint_secrets where entity_id = $1 and endpoint_no = $2', [entityId, endpointNo]);
  await queries.run('delete from endpoint_headers where entity_id = $1 and endpoint_no = $2', [entityId, endpointNo]);
  const certificates = 'endpoint_certificates where entity_id = $1 and endpoint_no = $2';
  await queries.run(`delete from ${certificates}`, [entityId, endpointNo]);
}

const TARGET = webhookTable.pick(['createdSeq', 'webhookId', 'networkId', 'event', 'postUrl', 'suspendedAt']);

/** Reads the webhooks of a URL in the form of their heads. */
export async function readTargets(queries: Queries, entityId: string, postUrl: string): Promise<HeadTarget[]> {
  const sql = `select ${TARGET.list} from webhooks where entity_id = $1 and post_url = $2`;
  const webhooks = await TARGET.all(queries, sql, [entityId, postUrl]);
  return webhooks.map(({ createdSeq, suspendedAt, ...webhook }) => {
    return { ...webhook, entityId, webhookNo: createdSeq, isSuspended: suspendedAt !== null };
  });
}
