import {
  apiKeyListQuerySchema,
  apiKeyListSchema,
  apiKeySchema,
  createdApiKeySchema,
  entityListQuerySchema,
  entityListSchema,
  newApiKeySchema,
  newEntitySchema,
  provisionedSchema,
} from '../../contract/admin.ts';
import { invalidRequest, Problem } from '../../contract/problems.ts';
import { createApiKey, listApiKeys, revokeApiKey } from '../../store/tenants/api-keys.ts';
import { entityExists, listEntities } from '../../store/tenants/entities.ts';
import { provisionEntity } from '../../store/tenants/provision.ts';
import { changeBy, nowS } from '../context.ts';
import { cacheableJson, json, taggedResponses } from '../http/responses.ts';
import { adminOperation, type Operation } from '../operation.ts';

/** The operator's commands over HTTP, so that a platform can provision entities by program. */

const UNCACHED = { 'cache-control': 'no-store' };

const listAllEntities = adminOperation({
  method: 'get',
  path: '/entities',
  operationId: 'listEntities',
  tag: 'Operator',
  summary: 'List entities',
  query: entityListQuerySchema,
  responses: taggedResponses(entityListSchema),
  handle: async ({ context, request, query }) => cacheableJson(request, await listEntities(context.db, query)),
});

const createEntity = adminOperation({
  method: 'post',
  path: '/entities',
  operationId: 'createEntity',
  tag: 'Operator',
  summary: 'Make an entity and its first key',
  body: newEntitySchema,
  responses: { 201: { description: 'Made', schema: provisionedSchema } },
  handle: async ({ context, caller, body }) => {
    const made = await provisionEntity(context.db, context.box, body.name, changeBy(context, caller));
    return json(201, made, UNCACHED);
  },
});

const listAllKeys = adminOperation({
  method: 'get',
  path: '/keys',
  operationId: 'listApiKeys',
  tag: 'Operator',
  summary: 'List api keys, never the keys themselves',
  query: apiKeyListQuerySchema,
  responses: taggedResponses(apiKeyListSchema),
  handle: async ({ context, request, query }) => cacheableJson(request, await listApiKeys(context.db, query)),
});

const createKey = adminOperation({
  method: 'post',
  path: '/keys',
  operationId: 'createApiKey',
  tag: 'Operator',
  summary: 'Make an api key; it is shown once',
  body: newApiKeySchema,
  responses: { 201: { description: 'Made', schema: createdApiKeySchema } },
  handle: async ({ context, caller, body }) => {
    const { entityId, name, permissions, dateExpires } = body;
    if (dateExpires !== null && dateExpires <= nowS(context)) {
      throw invalidRequest([{ in: 'body', name: 'dateExpires', message: 'must be in the future' }]);
    }
    const made = await context.db.transaction(async (queries) => {
      if (!(await entityExists(queries, entityId))) {
        throw invalidRequest([{ in: 'body', name: 'entityId', message: 'names no entity' }]);
      }
      return createApiKey(queries, entityId, { name, permissions, expiresAt: dateExpires }, changeBy(context, caller));
    });
    return json(201, made, UNCACHED);
  },
});

const revokeKey = adminOperation({
  method: 'delete',
  path: '/keys/{keyId}',
  operationId: 'revokeApiKey',
  tag: 'Operator',
  summary: 'Revoke an api key',
  description: 'It is refused from the next request on, on every instance. The key stays in the list, as revoked.',
  responses: { 200: { description: 'Revoked', schema: apiKeySchema } },
  problems: ['not_found'],
  handle: async ({ context, caller, id }) => {
    const key = await revokeApiKey(context.db, id, changeBy(context, caller));
    if (key === null) throw new Problem('not_found', 'There is no such key.');
    return json(200, key);
  },
});

export const adminOperations: readonly Operation[] = [listAllEntities, createEntity, listAllKeys, createKey, revokeKey];
