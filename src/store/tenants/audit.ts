import type { AuditAction, AuditEntry, AuditListQuery } from '../../contract/audit.ts';
import { type Database, longReadsOf, type Queries } from '../database/database.ts';
import { Parameters } from '../database/sql.ts';
import { readPage } from '../list/page.ts';
import { newId } from '../new-id.ts';
import { auditTable } from './tables.ts';

/** The actor of a change and its time: every function that changes anything takes one. */
export type Change = { actor: string; nowS: number };

const NEW_ENTRY = auditTable.insertion(auditTable.namesBut());

type Fields = NonNullable<AuditEntry['after']>;
export type AuditRecord = { action: AuditAction; target: string; before?: Fields; after?: Fields };

/** Records a change in the transaction that makes the change, so that neither exists without the other. Callers never pass a secret. */
export async function recordChange(
  queries: Queries,
  entityId: string,
  { actor, nowS }: Change,
  { action, target, before, after }: AuditRecord,
): Promise<string> {
  const auditId = newId('aud');
  const dateCreated = nowS;
  const entry = { entityId, auditId, actor, action, target, before: before ?? null, after: after ?? null, dateCreated };
  await queries.run(NEW_ENTRY.text(1), NEW_ENTRY.parameters([entry]));
  return auditId;
}

/** For a change that takes several transactions, which all update the same entry. */
export async function amendChange(queries: Queries, entityId: string, auditId: string, after: Fields): Promise<void> {
  await queries.run('update audit set after = $3 where entity_id = $1 and id = $2', [
    entityId,
    auditId,
    JSON.stringify(after),
  ]);
}

/** A change of 1,000 webhooks with the longest URLs makes an entry of 2 MB. */
const ENTRY_BYTES = 'coalesce(octet_length(before), 0) + coalesce(octet_length(after), 0)';

const SHOWN_ENTRY = auditTable.pick(['auditId', 'actor', 'action', 'target', 'before', 'after', 'dateCreated']);

export async function listAudit(
  db: Database,
  entityId: string,
  query: AuditListQuery,
): Promise<{ totalResults: number; audit: AuditEntry[] }> {
  const { actor, action, target, since, until } = query;
  const parameters = new Parameters();
  const dateCreated = { from: since, before: until };
  const where = auditTable.where(parameters, { entityId, actor, action, target, dateCreated });
  const order = ['created_at', 'id'];
  const source = {
    table: 'audit',
    columns: SHOWN_ENTRY,
    where,
    order,
    parameters: parameters.values,
    size: { bytes: ENTRY_BYTES, fits: 1 },
  };
  const { totalResults, rows: audit } = await readPage(longReadsOf(db, entityId), source, query);
  return { totalResults, audit };
}
