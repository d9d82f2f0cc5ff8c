import {
  type Endpoint,
  type EndpointListQuery,
  endpointListQuerySchema,
} from '../../src/contract/endpoints/endpoint.ts';
import { endpointId } from '../../src/domain/ids.ts';
import type { Database, SqlInteger } from '../../src/store/database/database.ts';
import { entityKey } from '../../src/store/database/sql.ts';
import { type CheckedUpdate, updateEndpoint } from '../../src/store/endpoints/change.ts';
import { listEndpoints } from '../../src/store/endpoints/read.ts';
import { TEST_BOX, TEST_CHANGE } from './api.ts';

/** All endpoints of the entity, by their URLs. */
export async function endpointsOf(
  db: Database,
  entityId: string,
  query: Partial<EndpointListQuery> = {},
): Promise<Endpoint[]> {
  const full = { ...endpointListQuerySchema.parse({}), sortDir: 'asc', limit: 100, ...query } as const;
  return (await listEndpoints(db, TEST_BOX, entityId, full)).endpoints;
}

export async function endpointOf(db: Database, entityId: string, postUrl: string): Promise<Endpoint> {
  const found = (await endpointsOf(db, entityId)).find((endpoint) => endpoint.postUrl === postUrl);
  if (found === undefined) throw new Error(`there is no endpoint ${postUrl}`);
  return found;
}

export async function configure(
  db: Database,
  entityId: string,
  postUrl: string,
  update: CheckedUpdate,
  change = TEST_CHANGE,
): Promise<Endpoint> {
  const { endpointId } = await endpointOf(db, entityId, postUrl);
  const updated = await updateEndpoint({ db, box: TEST_BOX, entityId, endpointId }, update, change);
  if (updated === null) throw new Error(`${endpointId} is gone`);
  return updated;
}

/** The number of an endpoint, also of one that was removed; 0 where there is none. */
export async function endpointNoOf(db: Database, entityId: string, postUrl: string): Promise<number> {
  const row = await db.get<{ no: SqlInteger }>(
    'select no from endpoints where entity_id = $1 and post_url = $2 order by removed_ms limit 1',
    [entityKey(db.dialect, entityId), postUrl],
  );
  return Number(row?.no ?? 0);
}

export async function endpointIdOf(db: Database, entityId: string, postUrl: string): Promise<string> {
  return endpointId(await endpointNoOf(db, entityId, postUrl));
}
