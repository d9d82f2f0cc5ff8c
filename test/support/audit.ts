import { expect } from 'bun:test';
import type { App } from '../../src/api/app.ts';
import type { AuditEntry } from '../../src/contract/audit.ts';
import { call, type Tenant } from './api.ts';

export const AUDIT = '/api/v1/crypto/audit';

export type AuditList = { totalResults: number; audit: AuditEntry[] };

export async function listAudit(app: App, tenant: Tenant, query = ''): Promise<AuditList> {
  const response = await call(app, tenant, `${AUDIT}${query}`);
  expect(response.status).toBe(200);
  return (await response.json()) as AuditList;
}

/** Without its id, which is random. */
export function shown({ auditId: _id, ...entry }: AuditEntry): Omit<AuditEntry, 'auditId'> {
  return entry;
}
