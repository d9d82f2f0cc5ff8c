import { DomainError } from '../../domain/errors.ts';
import { canonicalFilter, type PayloadFilter } from '../../domain/payload-filter/payload-filter.ts';
import type { Queries } from '../database/database.ts';
import { chunks, Parameters, readInteger } from '../database/sql.ts';
import { filterTable, optionChangeTable, webhookTable } from '../tables.ts';

/** Filters of webhooks as they are stored: each text of an entity once, under its hash. All writes are under the entity lock. */

/**
 * Limit on the bytes of an entity's filters, because an event may have to be compared with all of them. An acceptance reads the
 * filters that its process has not cached. This many bytes are read and parsed within a few milliseconds.
 */
const MAX_ENTITY_BYTES = 1024 * 1024;

const NEW_FILTER = filterTable.insertion(['entityId', 'hash', 'bytes', 'filter']);

/** Stores a filter. Returns the hash by which webhooks refer to the filter; null for no filter. */
export async function storeFilter(
  queries: Queries,
  entityId: string,
  filter: PayloadFilter | null,
): Promise<string | null> {
  if (filter === null) return null;
  const text = JSON.stringify(filter);
  const hash = Bun.SHA256.hash(text, 'hex').slice(0, 32);
  const row = { entityId, hash, bytes: Buffer.byteLength(text), filter: text };
  const sql = `${NEW_FILTER.text(1)} on conflict (entity_id, hash) do nothing`;
  if ((await queries.run(sql, NEW_FILTER.parameters([row]))) === 0) return hash;
  // Filters that webhooks had before are kept for a while, and do not count.
  const bytes = await readInteger(
    queries,
    'sum(bytes)',
    `from payload_filters f where entity_id = $1 and (hash = $2
       or exists (select 1 from webhooks w where w.entity_id = $1 and w.filter_hash = f.hash))`,
    [entityId, hash],
  );
  if (bytes > MAX_ENTITY_BYTES) throw new DomainError('filters_too_large', { bytes, limitBytes: MAX_ENTITY_BYTES });
  return hash;
}

/** Removes the given filters, unless a webhook has them, or had them at a revision that a task refers to. */
export async function dropUnusedFilters(
  queries: Queries,
  entityId: string,
  hashes: readonly (string | null)[],
): Promise<void> {
  const distinct = [...new Set(hashes)].filter((hash) => hash !== null);
  for (const chunk of chunks(distinct)) {
    // Two statements: Citus cannot compare the rows that a statement deletes with a table that it has on every worker.
    const unused = new Set(chunk);
    for (const table of [webhookTable, optionChangeTable]) {
      const used = new Parameters();
      const inUse = await queries.all<{ hash: string }>(
        `select distinct filter_hash as hash from ${table.name} where ${table.where(used, { entityId, filterHash: chunk })}`,
        used.values,
      );
      for (const { hash } of inUse) unused.delete(hash);
    }
    if (unused.size === 0) continue;
    const parameters = new Parameters();
    const where = filterTable.where(parameters, { entityId, hash: [...unused] });
    await queries.send(`delete from payload_filters where ${where}`, parameters.values);
  }
}

/** A webhook with the filter that it has. */
export type FilteredWebhook = { webhookId: string; hash: string | null; filter: PayloadFilter | null };

/** Reads filters in one statement, so that a filter that is being replaced is either the old one or the new one. */
export async function readFilters(
  queries: Pick<Queries, 'all'>,
  entityId: string,
  webhookIds: readonly string[],
): Promise<FilteredWebhook[]> {
  const found: FilteredWebhook[] = [];
  const filters = new Map<string, PayloadFilter>();
  for (const chunk of chunks(webhookIds)) {
    const parameters = new Parameters(entityId);
    const ids = parameters.list(chunk);
    // Only the first webhook with a filter returns its text, because many webhooks may share a large filter.
    const rows = await queries.all<{ id: string; filter_hash: string | null; filter: string | null }>(
      `with w as (select id, filter_hash, row_number() over (partition by filter_hash order by id) as place
         from webhooks where entity_id = $1 and id in ${ids})
       select w.id, w.filter_hash, f.filter from w
       left join payload_filters f on w.place = 1 and f.entity_id = $1 and f.hash = w.filter_hash
       order by w.place`,
      parameters.values,
    );
    for (const { id, filter_hash: hash, filter } of rows) {
      if (hash !== null && filter !== null) filters.set(hash, parseFilter(filter));
      found.push({ webhookId: id, hash, filter: hash === null ? null : (filters.get(hash) ?? null) });
    }
  }
  return found;
}

const TEXT = filterTable.pick(['hash', 'filter']);

/** The filters by hash. Filters that were removed since are missing. */
export async function readFilterTexts(
  queries: Pick<Queries, 'all'>,
  entityId: string,
  hashes: readonly string[],
): Promise<Map<string, string>> {
  const rows = await TEXT.allIn(queries, 'from payload_filters where entity_id = $1 and hash in', [entityId], hashes);
  return new Map(rows.map(({ hash, filter }) => [hash, filter]));
}

/** Parses without a check, because stored filters were checked before. */
export function parseFilter(text: string): PayloadFilter {
  return JSON.parse(text) as PayloadFilter;
}

export function isSameFilter(a: PayloadFilter | null, b: PayloadFilter | null): boolean {
  if (a === null || b === null) return a === b;
  return canonicalFilter(a) === canonicalFilter(b);
}

/** Gives a filter to webhooks that have another filter. */
export async function assignFilter(
  queries: Queries,
  entityId: string,
  webhooks: readonly FilteredWebhook[],
  filter: PayloadFilter | null,
): Promise<void> {
  const hash = await storeFilter(queries, entityId, filter);
  await setFilterHash(queries, entityId, webhooks, hash);
  await dropUnusedFilters(
    queries,
    entityId,
    webhooks.map((webhook) => webhook.hash),
  );
}

export async function setFilterHash(
  queries: Queries,
  entityId: string,
  webhooks: readonly { webhookId: string }[],
  hash: string | null,
): Promise<void> {
  for (const chunk of chunks(webhooks)) {
    const parameters = new Parameters(hash);
    const where = webhookTable.where(parameters, { entityId, webhookId: chunk.map(({ webhookId }) => webhookId) });
    await queries.run(`update webhooks set filter_hash = $1 where ${where}`, parameters.values);
  }
}
