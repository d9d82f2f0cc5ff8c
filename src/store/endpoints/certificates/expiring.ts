import type { Queries } from '../../database/database.ts';
import { readInteger } from '../../database/sql.ts';
import { endpointCertificateTable } from '../../tables.ts';

const ROW = endpointCertificateTable.pick(['entityId', 'subject', 'dateExpires']);

export type ExpiringCertificate = { readonly entityId: string; readonly subject: string; readonly dateExpires: number };

/** Reads the number of certificates, and the certificates that expire before the given time, by their expiry. For operators. */
export async function readExpiring(
  queries: Pick<Queries, 'get' | 'all'>,
  beforeS: number,
  limit: number,
): Promise<{ total: number; expiring: ExpiringCertificate[] }> {
  const expiring = await ROW.all(
    queries,
    `select ${ROW.list} from endpoint_certificates where expires_at < $1 order by expires_at, entity_id limit $2`,
    [beforeS, limit],
  );
  return { total: await readInteger(queries, 'count(*)', 'from endpoint_certificates'), expiring };
}
