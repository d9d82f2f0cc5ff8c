import { z } from 'zod';
import type { RequestHeaders } from '../../domain/endpoints/request-headers.ts';
import type { Queries } from '../database/database.ts';
import { endpointHeadersTable } from '../tables.ts';
import type { SecretBox } from '../tenants/secret-box.ts';
import { checkSecretsOpen } from '../tenants/signing-keys.ts';

/** The fixed headers of an endpoint. They are sealed like a signing secret, because they are credentials for the receiver's gateway. */

const ROW = endpointHeadersTable.pick(['entityId', 'endpointNo', 'sealed']);
const NEW_ROW = endpointHeadersTable.insertion(['entityId', 'endpointNo', 'sealed']);

const storedHeaders = z.record(z.string(), z.string());
const NO_HEADERS: RequestHeaders = {};

export async function readHeaders(
  queries: Pick<Queries, 'get'>,
  box: SecretBox,
  entityId: string,
  endpointNo: number,
): Promise<RequestHeaders> {
  const sql = `select ${ROW.list} from endpoint_headers where entity_id = $1 and endpoint_no = $2`;
  const row = await ROW.get(queries, sql, [entityId, endpointNo]);
  return openHeaders(box, entityId, endpointNo, row?.sealed ?? null);
}

export async function writeHeaders(
  queries: Queries,
  box: SecretBox,
  entityId: string,
  endpointNo: number,
  headers: RequestHeaders,
): Promise<void> {
  await queries.run('delete from endpoint_headers where entity_id = $1 and endpoint_no = $2', [entityId, endpointNo]);
  if (Object.keys(headers).length > 0) {
    const sealed = box.seal(JSON.stringify(headers), headersContext(entityId, endpointNo));
    await queries.run(NEW_ROW.text(1), NEW_ROW.parameters([{ entityId, endpointNo, sealed }]));
  }
  // Checks after the write, because the write waits for a rekey to end. A process with the old key must not seal anything after
  // the rekey.
  await checkSecretsOpen(queries, box);
}

/** `sealed` is null if the endpoint has no headers. */
export function openHeaders(
  box: SecretBox,
  entityId: string,
  endpointNo: number,
  sealed: string | null,
): RequestHeaders {
  if (sealed === null) return NO_HEADERS;
  return storedHeaders.parse(JSON.parse(box.open(sealed, headersContext(entityId, endpointNo))));
}

export function headersContext(entityId: string, endpointNo: number): string {
  return `headers ${entityId} ${endpointNo}`;
}
