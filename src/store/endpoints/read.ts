import type { Endpoint, EndpointList, EndpointListQuery } from '../../contract/endpoints/endpoint.ts';
import type { EndpointState } from '../../domain/endpoints/settings.ts';
import { endpointId, endpointNo } from '../../domain/ids.ts';
import { type Database, type Dialect, longReadsOf, type Queries, type SqlValue } from '../database/database.ts';
import {
  Columns,
  entityKey,
  integer,
  nullable,
  Parameters,
  type RowOf,
  readInteger,
  seconds,
  text,
} from '../database/sql.ts';
import { BLOCKED } from '../deliveries/heads.ts';
import { readPage } from '../list/page.ts';
import type { SecretBox } from '../tenants/secret-box.ts';
import { type LastFailure, readLastFailures } from './last-failures.ts';
import { openHeaders } from './request-headers.ts';

/** Reads endpoints: their settings, and the state of their webhooks and queues. */

const endpointColumns = new Columns({
  no: integer('no'),
  postUrl: text('post_url'),
  name: nullable(text('name')),
  state: text<EndpointState>('state'),
  ordering: integer('ordering'),
  rateLimit: nullable(integer('rate_limit')),
  headers: nullable(text('headers')),
  ownSecret: nullable(text('own_secret')),
  certificateSubject: nullable(text('certificate_subject')),
  certificateFingerprint: nullable(text('certificate_fingerprint')),
  certificateExpires: nullable(integer('certificate_expires')),
  webhooks: integer('webhooks'),
  suspended: integer('suspended'),
  waiting: integer('waiting'),
  lastSequence: integer('last_sequence'),
  dateFailingSince: nullable(seconds('failing_since_ms')),
  /** One of the failing webhooks. */
  failingNo: nullable(integer('failing_no')),
  dateCreated: seconds('created_at_ms'),
});

/**
 * The endpoints of the entity that have webhooks, as one table: `$1` is the key of the entity, `$2` its id. The sums run over all
 * webhooks of the entity, because a list may be sorted by these sums. `only` restricts the table to one endpoint.
 */
function endpointTable(only: { endpoints: string; heads: string; webhooks: string }): string {
  return `(select e.no, e.post_url, e.host, e.name, e.ordering, e.paused_at_ms, e.rate_limit, e.created_at_ms,
      x.sealed as headers, k.subject as certificate_subject, k.fingerprint as certificate_fingerprint,
      k.expires_at as certificate_expires, (select max(o.id) from endpoint_secrets o where o.entity_id = $2 and o.endpoint_no = e.no
        and o.expires_at is null) as own_secret, w.webhooks, w.suspended, coalesce(s.last_sequence, 0) as last_sequence,
      coalesce(h.waiting, 0) as waiting, h.failing_since_ms, h.failing_no,
      case when e.paused_at_ms is not null then 'paused' when w.suspended > 0 then 'suspended'
        when h.failing_since_ms is not null then 'failing' else 'active' end as state
    from endpoints e
    join (select post_url, count(*) as webhooks, count(suspended_at) as suspended from webhooks
      where entity_id = $2 ${only.webhooks} group by post_url) w on w.post_url = e.post_url
    left join endpoint_headers x on x.entity_id = $2 and x.endpoint_no = e.no
    left join endpoint_certificates k on k.entity_id = $2 and k.endpoint_no = e.no
    left join endpoint_sequences s on s.entity_id = e.entity_id and s.endpoint_no = e.no
    left join (select q.endpoint_no, min(q.failing_since_ms) as failing_since_ms,
        max(case when q.failing_since_ms is not null then q.webhook_no end) as failing_no, sum(c.waiting) as waiting
      from queue_heads q left join (select webhook_no, sum(waiting) as waiting from queue_counts
        where entity_id = $1 group by webhook_no) c on c.webhook_no = q.webhook_no
      where q.entity_id = $1 and q.webhook_no > 0 and q.blocked < ${BLOCKED.deleted} ${only.heads}
      group by q.endpoint_no) h on h.endpoint_no = e.no
    where e.entity_id = $1 and e.removed_ms = 0 ${only.endpoints}) endpoint`;
}

const ALL = endpointTable({ endpoints: '', heads: '', webhooks: '' });
const ONE = endpointTable({
  endpoints: 'and e.no = $3',
  heads: 'and q.endpoint_no = $3',
  webhooks: 'and post_url = (select post_url from endpoints where entity_id = $1 and no = $3)',
});

type EndpointRow = RowOf<typeof endpointColumns>;

export async function listEndpoints(
  db: Database,
  box: SecretBox,
  entityId: string,
  query: EndpointListQuery,
): Promise<EndpointList> {
  const parameters = new Parameters(entityKey(db.dialect, entityId), entityId);
  const conditions = ['1 = 1'];
  if (query.postUrl !== undefined) {
    const length = parameters.bind([...query.postUrl].length);
    conditions.push(`substr(post_url, 1, cast(${length} as int)) = ${parameters.bind(query.postUrl)}`);
  }
  if (query.host !== undefined) conditions.push(`host = ${parameters.bind(query.host.toLowerCase())}`);
  if (query.state !== undefined) conditions.push(`state = ${parameters.bind(query.state)}`);
  const source = {
    table: ALL,
    columns: endpointColumns,
    where: conditions.join(' and '),
    // Existing endpoints of an entity have different URLs.
    order: { postUrl: ['post_url'], waiting: ['waiting', 'post_url'], lastSequence: ['last_sequence', 'post_url'] }[
      query.sortBy
    ],
    parameters: parameters.values,
  };
  const { totalResults, rows } = await readPage(longReadsOf(db, entityId), source, query);
  const failingNos = rows.flatMap(({ failingNo }) => failingNo ?? []);
  const failures = await readLastFailures(
    longReadsOf(db, entityId),
    db.dialect,
    entityKey(db.dialect, entityId),
    failingNos,
  );
  return { totalResults, endpoints: rows.map((row) => toEndpoint(box, entityId, row, failures)) };
}

/** Null for an unknown id, for the id of another entity, and for an endpoint whose last webhook was removed. */
export async function readEndpoint(
  queries: Pick<Queries, 'get' | 'all'>,
  dialect: Dialect,
  box: SecretBox,
  entityId: string,
  id: string,
): Promise<Endpoint | null> {
  const no = endpointNo(id);
  if (no === null) return null;
  const parameters: SqlValue[] = [entityKey(dialect, entityId), entityId, no];
  const row = await endpointColumns.get(queries, `select ${endpointColumns.list} from ${ONE}`, parameters);
  if (row === undefined) return null;
  const failingNos = row.failingNo === null ? [] : [row.failingNo];
  const failures = await readLastFailures(queries, dialect, entityKey(dialect, entityId), failingNos);
  return toEndpoint(box, entityId, row, failures);
}

const NO_FAILURE: LastFailure = { lastStatusCode: null, lastError: null };

function toEndpoint(
  box: SecretBox,
  entityId: string,
  row: EndpointRow,
  failures: ReadonlyMap<number, LastFailure>,
): Endpoint {
  const { no, postUrl, name, state, rateLimit, webhooks, suspended, waiting, lastSequence } = row;
  return {
    endpointId: endpointId(no),
    postUrl,
    name,
    state,
    ordering: row.ordering === 1 ? 'agreement' : 'none',
    paused: state === 'paused',
    headerNames: Object.keys(openHeaders(box, entityId, no, row.headers)),
    clientCertificate: certificateOf(row),
    rateLimit,
    secret: row.ownSecret === null ? 'entity' : 'own',
    webhooks,
    suspendedWebhooks: suspended,
    waiting,
    lastSequence,
    dateFailingSince: row.dateFailingSince,
    ...(failures.get(row.failingNo ?? 0) ?? NO_FAILURE),
    dateCreated: row.dateCreated,
  };
}

function certificateOf(row: EndpointRow): Endpoint['clientCertificate'] {
  const { certificateSubject: subject, certificateFingerprint: fingerprint, certificateExpires: dateExpires } = row;
  if (subject === null || fingerprint === null || dateExpires === null) return null;
  return { subject, fingerprint, dateExpires };
}

/** The number of the endpoint that has the URL now, or 0. */
export function findEndpointNo(db: Database, entityId: string, postUrl: string): Promise<number> {
  const from = 'from endpoints where entity_id = $1 and post_url = $2 and removed_ms = 0';
  return readInteger(db, 'no', from, [entityKey(db.dialect, entityId), postUrl]);
}
