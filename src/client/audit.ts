import { OPERATIONS } from './operations.ts';
import { allPages } from './pages.ts';
import type { CallOptions, Transport } from './transport.ts';
import type { AuditEntry, AuditList, AuditListQuery } from './types.ts';

/** Who changed what. */
export class Audit {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: AuditListQuery = {}, options?: CallOptions): Promise<AuditList> {
    return this.#transport.call(OPERATIONS.listAudit, { query }, options);
  }

  listAll(query: AuditListQuery = {}, options?: CallOptions): AsyncGenerator<AuditEntry, void, undefined> {
    const read = async (asked: AuditListQuery, given: CallOptions) => {
      const { totalResults, audit } = await this.list(asked, given);
      return { totalResults, items: audit };
    };
    return allPages(read, ({ auditId }) => auditId, query, options);
  }
}
