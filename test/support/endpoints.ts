import {
  type Endpoint,
  type EndpointListQuery,
  type EndpointUpdate,
  endpointListQuerySchema,
} from '../../src/contract/endpoints/endpoint.ts';
import type { Database } from '../../src/store/database/database.ts';
import { updateEndpoint } from '../../src/store/endpoints/change.ts';
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
  update: EndpointUpdate,
  change = TEST_CHANGE,
): Promise<Endpoint> {
  const { endpointId } = await endpointOf(db, entityId, postUrl);
  const updated = await updateEndpoint({ db, box: TEST_BOX, entityId, endpointId }, update, change);
  if (updated === null) throw new Error(`${endpointId} is gone`);
  return updated;
}
