import type { ImportedEndpoint } from '../../contract/webhook-import.ts';
import { type Database, type Dialect, longReadsOf, type Queries } from '../database/database.ts';
import { Columns, chunks, entityKey, integer, nullable, Parameters, text } from '../database/sql.ts';
import type { SecretBox } from '../tenants/secret-box.ts';
import { type WrittenSettings, writeSettings } from './change.ts';
import { openHeaders } from './request-headers.ts';

/** The settings of endpoints in exports and imports. Neither contains values of headers, signing secrets or certificates. */

const PAGE_ROWS = 1_000;

const SETTINGS = new Columns({
  no: integer('e.no'),
  postUrl: text('e.post_url'),
  name: nullable(text('e.name')),
  ordering: integer('e.ordering'),
  pausedAtMs: nullable(integer('e.paused_at_ms')),
  rateLimit: nullable(integer('e.rate_limit')),
  headers: nullable(text('x.sealed')),
  certificate: nullable(text('k.fingerprint')),
  ownSecret: nullable(
    text('(select max(o.id) from endpoint_secrets o where o.entity_id = $2 and o.endpoint_no = e.no)'),
  ),
});

const FROM = `select ${SETTINGS.list} from endpoints e
  left join endpoint_headers x on x.entity_id = $2 and x.endpoint_no = e.no
  left join endpoint_certificates k on k.entity_id = $2 and k.endpoint_no = e.no
  where e.entity_id = $1 and e.removed_ms = 0`;

type SettingsRow = Awaited<ReturnType<typeof SETTINGS.all>>[number];

function isConfigured({ ordering, ...row }: SettingsRow): boolean {
  const { name, pausedAtMs, rateLimit, headers, certificate, ownSecret } = row;
  return (
    [name, pausedAtMs, rateLimit, headers, certificate, ownSecret].some((value) => value !== null) || ordering !== 0
  );
}

export type ExportedEndpoint = WrittenSettings & { postUrl: string; headerNames: string[] };
/** An endpoint for the export, and facts that are not in the file but that the operator must know. */
export type WalkedEndpoint = { endpoint: ExportedEndpoint; hasOwnSecret: boolean; hasCertificate: boolean };

/** Walks the endpoints whose settings differ from the defaults. */
export async function* walkSettings(
  db: Database,
  box: SecretBox,
  entityId: string,
  pageRows = PAGE_ROWS,
): AsyncGenerator<WalkedEndpoint> {
  let after = -1;
  for (;;) {
    const rows = await SETTINGS.all(longReadsOf(db, entityId), `${FROM} and e.no > $3 order by e.no limit $4`, [
      entityKey(db.dialect, entityId),
      entityId,
      after,
      pageRows,
    ]);
    for (const row of rows) {
      if (!isConfigured(row)) continue;
      const headerNames = Object.keys(openHeaders(box, entityId, row.no, row.headers));
      const hasCertificate = row.certificate !== null;
      yield { endpoint: { ...shown(row), headerNames }, hasOwnSecret: row.ownSecret !== null, hasCertificate };
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    after = last.no;
  }
}

function shown({ postUrl, name, ordering, pausedAtMs, rateLimit }: SettingsRow) {
  return {
    postUrl,
    name,
    ordering: ordering === 1 ? ('agreement' as const) : ('none' as const),
    paused: pausedAtMs !== null,
    rateLimit,
  };
}

/** Endpoints by their URLs, and whether they have settings. */
export type StoredEndpoints = ReadonlyMap<string, boolean>;

export async function readStoredEndpoints(
  queries: Pick<Queries, 'all'>,
  dialect: Dialect,
  entityId: string,
  postUrls: readonly string[],
): Promise<StoredEndpoints> {
  const rows = await readRows(queries, dialect, entityId, postUrls);
  return new Map(rows.map((row) => [row.postUrl, isConfigured(row)]));
}

async function readRows(
  queries: Pick<Queries, 'all'>,
  dialect: Dialect,
  entityId: string,
  postUrls: readonly string[],
): Promise<SettingsRow[]> {
  const rows: SettingsRow[] = [];
  for (const chunk of chunks([...new Set(postUrls)])) {
    const parameters = new Parameters(entityKey(dialect, entityId), entityId);
    const urls = parameters.list(chunk);
    rows.push(...(await SETTINGS.all(queries, `${FROM} and e.post_url in ${urls}`, parameters.values)));
  }
  return rows;
}

export type NumberedEndpoint = ImportedEndpoint & { line: number };
export type EndpointOutcome = { configured: number; refused: { line: number; reason: string }[] };

/**
 * Imports settings. Call it under the lock of the entity, after the webhooks of the batch. An endpoint that has settings keeps
 * them. During a dry run, `alsoStored` has the endpoints of the real store.
 */
export async function importSettings(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  endpoints: readonly NumberedEndpoint[],
  alsoStored: StoredEndpoints,
): Promise<EndpointOutcome> {
  const outcome: EndpointOutcome = { configured: 0, refused: [] };
  const urls = endpoints.map(({ postUrl }) => postUrl);
  const rows = new Map((await readRows(queries, dialect, entityId, urls)).map((row) => [row.postUrl, row]));
  const done = new Set<string>();
  for (const { line, postUrl, headerNames: _, ...settings } of endpoints) {
    const row = rows.get(postUrl);
    if (row === undefined && !alsoStored.has(postUrl)) {
      outcome.refused.push({ line, reason: `endpoint.postUrl ${postUrl} has no webhook; import its webhooks first` });
      continue;
    }
    const keeps = alsoStored.get(postUrl) === true || done.has(postUrl) || (row !== undefined && isConfigured(row));
    if (keeps || Object.keys(settings).length === 0) continue;
    done.add(postUrl);
    outcome.configured++;
    if (row !== undefined) await writeSettings(queries, dialect, entityId, { ...shown(row), no: row.no }, settings);
  }
  return outcome;
}
