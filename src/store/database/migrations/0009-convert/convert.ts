import { hostOf } from '../../../../domain/post-url.ts';
import type { Dialect, Queries, SqlInteger, SqlUuid, SqlValue } from '../../database.ts';
import { chunks, entityKey, valuesList } from '../../sql.ts';

const ROWS_PER_PAGE = 1_000;
/** As large as the numbers that are drawn for new endpoints. */
const MAX_ENDPOINT_NO = Number.MAX_SAFE_INTEGER;

/** Every URL of a webhook gets an endpoint: until now it got one with its first event. */
export async function convertEndpoints(queries: Queries, dialect: Dialect): Promise<void> {
  await nameHosts(queries, dialect);
  const clock = await queries.get<{ now_ms: SqlInteger }>(`select ${dialect.nowMs} as now_ms`);
  const nowMs = Number(clock?.now_ms ?? 0);
  let after = { entityId: '', postUrl: '' };
  for (;;) {
    const rows = await queries.all<{ entity_id: string; post_url: string }>(
      `select distinct entity_id, post_url from webhooks where (entity_id, post_url) > ($1, $2)
       order by entity_id, post_url limit ${ROWS_PER_PAGE}`,
      [after.entityId, after.postUrl],
    );
    for (const chunk of chunks(rows)) {
      const values = chunk.flatMap(({ entity_id, post_url }): SqlValue[] => [
        entityKey(dialect, entity_id),
        Math.floor(Math.random() * MAX_ENDPOINT_NO),
        post_url,
        hostOf(post_url),
        nowMs,
      ]);
      await queries.run(
        `insert into endpoints (entity_id, no, post_url, host, created_at_ms) values ${valuesList(chunk.length, 5)}
         on conflict (entity_id, post_url, removed_ms) do nothing`,
        values,
      );
    }
    const last = rows.at(-1);
    if (rows.length < ROWS_PER_PAGE || last === undefined) return;
    after = { entityId: last.entity_id, postUrl: last.post_url };
  }
}

async function nameHosts(queries: Queries, dialect: Dialect): Promise<void> {
  let after: { entity: SqlUuid; no: number } = { entity: dialect.bindUuid('0'.repeat(32)), no: 0 };
  for (;;) {
    const rows = await queries.all<{ entity_id: SqlUuid; no: SqlInteger; post_url: string }>(
      `select entity_id, no, post_url from endpoints where (entity_id, no) > ($1, $2)
       order by entity_id, no limit ${ROWS_PER_PAGE}`,
      [after.entity, after.no],
    );
    for (const row of rows) {
      await queries.run('update endpoints set host = $3 where entity_id = $1 and no = $2', [
        row.entity_id,
        Number(row.no),
        hostOf(row.post_url),
      ]);
    }
    const last = rows.at(-1);
    if (rows.length < ROWS_PER_PAGE || last === undefined) return;
    after = { entity: last.entity_id, no: Number(last.no) };
  }
}
