import type { z } from 'zod';
import type { auditEntrySchema, auditListQuerySchema, auditListSchema } from '../contract/audit.ts';
import { allPages } from './pages.ts';
import type { Query } from './schema-types.ts';
import type { CallOptions, Transport } from './transport.ts';

export type AuditEntry = z.output<typeof auditEntrySchema>;
export type AuditList = z.output<typeof auditListSchema>;
export type AuditListQuery = Query<typeof auditListQuerySchema>;

/** The log of who changed what. */
export class Audit {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: AuditListQuery = {}, options?: CallOptions): Promise<AuditList> {
    return this.#transport.call({ method: 'GET', path: '/audit', query }, options);
  }

  listAll(query: AuditListQuery = {}, options?: CallOptions): AsyncGenerator<AuditEntry, void, undefined> {
    return allPages((page, each) => this.list(page, each), 'audit', 'auditId', query, options);
  }
}
