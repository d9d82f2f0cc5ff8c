import { z } from 'zod';
import {
  type CertificateFacts,
  type ClientCertificate,
  clientCertificate,
  type GivenCertificate,
} from '../../../domain/endpoints/client-certificate.ts';
import type { Queries } from '../../database/database.ts';
import { endpointCertificateTable } from '../../tables.ts';
import type { SecretBox } from '../../tenants/secret-box.ts';
import { checkSecretsOpen } from '../../tenants/signing-keys.ts';

/** The client certificate of an endpoint. The chain is sealed with its private key, so that neither can be replaced alone. */

const ROW = endpointCertificateTable.pick(['entityId', 'endpointNo', 'dateExpires', 'sealed']);
const NEW_ROW = endpointCertificateTable.insertion(endpointCertificateTable.namesBut());

const storedCertificate = z.strictObject({ certificate: z.string(), privateKey: z.string() });

export async function readClientCertificate(
  queries: Pick<Queries, 'get'>,
  box: SecretBox,
  entityId: string,
  endpointNo: number,
): Promise<ClientCertificate | null> {
  const sql = `select ${ROW.list} from endpoint_certificates where entity_id = $1 and endpoint_no = $2`;
  const row = await ROW.get(queries, sql, [entityId, endpointNo]);
  if (row === undefined) return null;
  const given = storedCertificate.parse(JSON.parse(box.open(row.sealed, certificateContext(entityId, endpointNo))));
  return clientCertificate(given, row.dateExpires);
}

/** Writes the certificate, or removes it if `given` is null. */
export async function writeCertificate(
  queries: Queries,
  box: SecretBox,
  entityId: string,
  endpointNo: number,
  given: (GivenCertificate & CertificateFacts) | null,
): Promise<void> {
  const where = 'where entity_id = $1 and endpoint_no = $2';
  await queries.run(`delete from endpoint_certificates ${where}`, [entityId, endpointNo]);
  if (given !== null) {
    const { certificate, privateKey, ...facts } = given;
    const sealed = box.seal(JSON.stringify({ certificate, privateKey }), certificateContext(entityId, endpointNo));
    await queries.run(NEW_ROW.text(1), NEW_ROW.parameters([{ entityId, endpointNo, ...facts, sealed }]));
  }
  // Checks after the write, because the write waits for a rekey to end. A process with the old key must not seal anything after
  // the rekey.
  await checkSecretsOpen(queries, box);
}

export function certificateContext(entityId: string, endpointNo: number): string {
  return `certificate ${entityId} ${endpointNo}`;
}
