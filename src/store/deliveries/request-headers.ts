import type { DeliveryDetail } from '../../contract/deliveries.ts';
import { requestHeadersOf } from '../../domain/endpoints/shown-headers.ts';
import { version } from '../../version.ts';
import type { Database } from '../database/database.ts';
import { Columns, entityKey, integer } from '../database/sql.ts';
import { readHeaders } from '../endpoints/request-headers.ts';
import type { SecretBox } from '../tenants/secret-box.ts';
import type { StoredDelivery } from './read.ts';

const endpointColumns = new Columns({ no: integer('no') });

/**
 * Adds the headers of each request. They are not stored, but derived from the delivery, its attempts, and its endpoints as they
 * are now.
 */
export async function withRequestHeaders(
  db: Database,
  box: SecretBox,
  entityId: string,
  delivery: StoredDelivery,
  bodySignatureHeader: string | undefined,
): Promise<DeliveryDetail> {
  const namesOf = new Map<string, readonly string[]>();
  for (const postUrl of new Set(delivery.attemptLog.map((attempt) => attempt.postUrl))) {
    namesOf.set(postUrl, await readNames(db, box, entityId, postUrl));
  }
  const bodyBytes = Buffer.byteLength(delivery.body);
  const userAgent = `Paybell/${version}`;
  const attemptLog = delivery.attemptLog.map(({ responseHeaders, ...attempt }) => {
    const { postUrl, startedAtMs } = attempt;
    const headerNames = namesOf.get(postUrl) ?? [];
    const sent = { ...delivery, postUrl, startedAtMs, bodyBytes, userAgent, headerNames, bodySignatureHeader };
    return { ...attempt, requestHeaders: requestHeadersOf(sent), responseHeaders };
  });
  return { ...delivery, attemptLog };
}

async function readNames(db: Database, box: SecretBox, entityId: string, postUrl: string): Promise<readonly string[]> {
  const endpoint = await endpointColumns.get(
    db,
    `select ${endpointColumns.list} from endpoints where entity_id = $1 and post_url = $2 and removed_ms = 0`,
    [entityKey(db.dialect, entityId), postUrl],
  );
  return endpoint === undefined ? [] : Object.keys(await readHeaders(db, box, entityId, endpoint.no));
}
