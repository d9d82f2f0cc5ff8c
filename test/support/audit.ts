import { expect } from 'bun:test';
import type { App } from '../../src/api/app.ts';
import type { AuditEntry } from '../../src/contract/audit.ts';
import { call, type Tenant } from './api.ts';

export const AUDIT = '/api/v1/crypto/audit';

export type AuditList = { totalResults: number; audit: AuditEntry[] };

export async function listAudit(app: App, tenant: Tenant, query = ''): Promise<AuditList> {
  const answer = await call(app, tenant, `${AUDIT}${query}`);
  expect(answer.status).toBe(200);
  return (await answer.json()) as AuditList;
}

/** Without its id, which no test can know. */
export function shown({ auditId: _id, ...entry }: AuditEntry): Omit<AuditEntry, 'auditId'> {
  return entry;
}
