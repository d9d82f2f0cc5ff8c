import type { AuditAction, AuditEntry, AuditListQuery } from '../../contract/audit.ts';
import type { Database, Queries, SqlInteger } from '../database/database.ts';
import { readPage } from '../database/paginate.ts';
import { Parameters } from '../database/sql.ts';
import { newId } from '../new-id.ts';

/** Who makes a change, and when: every function that changes anything takes one. */
export type Change = { actor: string; nowS: number };

export type AuditRecord = { action: AuditAction; target: string; before?: unknown; after?: unknown };

/** In the transaction of the change itself, so that there is never one without the other. Never given a secret. */
export async function recordChange(
  queries: Queries,
  entityId: string,
  { actor, nowS }: Change,
  { action, target, before, after }: AuditRecord,
): Promise<string> {
  const auditId = newId('aud');
  await queries.run(
    `insert into audit (entity_id, id, actor, action, target, before, after, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [entityId, auditId, actor, action, target, toText(before), toText(after), nowS],
  );
  return auditId;
}

/** For a change that takes several transactions: its one row grows with them. */
export async function amendChange(queries: Queries, entityId: string, auditId: string, after: unknown): Promise<void> {
  await queries.run('update audit set after = $3 where entity_id = $1 and id = $2', [entityId, auditId, toText(after)]);
}

type AuditRow = {
  id: string;
  actor: string;
  action: string;
  target: string;
  before: string | null;
  after: string | null;
  created_at: SqlInteger;
};

export async function listAudit(
  db: Database,
  entityId: string,
  query: AuditListQuery,
): Promise<{ totalResults: number; audit: AuditEntry[] }> {
  const parameters = new Parameters();
  const where = [
    `entity_id = ${parameters.bind(entityId)}`,
    ...(query.actor === undefined ? [] : [`actor = ${parameters.bind(query.actor)}`]),
    ...(query.action === undefined ? [] : [`action = ${parameters.bind(query.action)}`]),
    ...(query.target === undefined ? [] : [`target = ${parameters.bind(query.target)}`]),
    ...(query.since === undefined ? [] : [`created_at >= ${parameters.bind(query.since)}`]),
    ...(query.until === undefined ? [] : [`created_at < ${parameters.bind(query.until)}`]),
  ].join(' and ');
  const columns = 'id, actor, action, target, before, after, created_at';
  const source = { table: 'audit', columns, where, order: ['created_at', 'id'], parameters: parameters.values };
  const { totalResults, rows } = await readPage<AuditRow>(db, source, query);
  return { totalResults, audit: rows.map(toEntry) };
}

function toEntry(row: AuditRow): AuditEntry {
  return {
    auditId: row.id,
    actor: row.actor,
    action: row.action,
    target: row.target,
    before: row.before === null ? null : JSON.parse(row.before),
    after: row.after === null ? null : JSON.parse(row.after),
    dateCreated: Number(row.created_at),
  };
}

function toText(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
