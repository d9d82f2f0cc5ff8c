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
  visitSchema,
} from '../../contract/admin.ts';
import { attentionListSchema, attentionQuerySchema } from '../../contract/attention.ts';
import { invalidRequest } from '../../contract/problems.ts';
import { listAttention } from '../../store/attention/read.ts';
import { createApiKey, listApiKeys, revokeApiKey } from '../../store/tenants/api-keys.ts';
import { entityExists, listEntities, visitEntity } from '../../store/tenants/entities.ts';
import { provisionEntity } from '../../store/tenants/provision.ts';
import { changeBy, nowS } from '../context.ts';
import { found } from '../http/found.ts';
import { cacheableJson, json, taggedResponses } from '../http/responses.ts';
import { adminOperation, type Operation } from '../operation.ts';

/** Management of entities and API keys, so that a platform can provision its tenants by program. */

const UNCACHED = { 'cache-control': 'no-store' };

const listAllEntities = adminOperation({
  method: 'get',
  path: '/entities',
  operationId: 'listEntities',
  tag: 'Operator',
  scope: 'entities:read',
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
  scope: 'entities:write',
  summary: 'Create an entity',
  description: 'Creates an entity with its first API key, which has all permissions. The key cannot be read again.',
  body: newEntitySchema,
  responses: { 201: { description: 'Created', schema: provisionedSchema } },
  handle: async ({ context, caller, body }) => {
    const created = await provisionEntity(context.db, context.box, body.name, changeBy(context, caller));
    return json(201, created, UNCACHED);
  },
});

const visit = adminOperation({
  method: 'post',
  path: '/entities/{entityId}/visits',
  operationId: 'visitEntity',
  tag: 'Operator',
  scope: 'entities:read',
  summary: 'Open an entity as an operator',
  description:
    "Adds an entry with the name of the operator's key to the audit log of the entity, and returns what the key may do " +
    'there. The dashboard sends it before it shows an entity to an operator.',
  responses: { 201: { description: 'Recorded', schema: visitSchema } },
  problems: ['not_found'],
  handle: async ({ context, caller, id: entityId }) => {
    const name = found(await visitEntity(context.db, entityId, changeBy(context, caller)), 'entity');
    return json(201, { entityId, name, permissions: caller.permissions });
  },
});

const listAllKeys = adminOperation({
  method: 'get',
  path: '/keys',
  operationId: 'listApiKeys',
  tag: 'Operator',
  scope: 'entities:read',
  summary: 'List API keys',
  description: 'Lists the API keys of all entities, without the keys themselves.',
  query: apiKeyListQuerySchema,
  responses: taggedResponses(apiKeyListSchema),
  handle: async ({ context, request, query }) => cacheableJson(request, await listApiKeys(context.db, query)),
});

const createKey = adminOperation({
  method: 'post',
  path: '/keys',
  operationId: 'createApiKey',
  tag: 'Operator',
  scope: 'entities:write',
  summary: 'Create an API key',
  description: 'The key cannot be read again.',
  body: newApiKeySchema,
  responses: { 201: { description: 'Created', schema: createdApiKeySchema } },
  handle: async ({ context, caller, body }) => {
    const { entityId, name, permissions, dateExpires } = body;
    if (dateExpires !== null && dateExpires <= nowS(context)) {
      throw invalidRequest([{ in: 'body', name: 'dateExpires', message: 'must be in the future' }]);
    }
    const created = await context.db.transaction(async (queries) => {
      if (!(await entityExists(queries, entityId))) {
        throw invalidRequest([{ in: 'body', name: 'entityId', message: 'is not the id of an entity' }]);
      }
      return createApiKey(queries, entityId, { name, permissions, expiresAt: dateExpires }, changeBy(context, caller));
    });
    return json(201, created, UNCACHED);
  },
});

const revokeKey = adminOperation({
  method: 'delete',
  path: '/keys/{keyId}',
  operationId: 'revokeApiKey',
  tag: 'Operator',
  scope: 'entities:write',
  summary: 'Revoke an API key',
  description: 'Every instance rejects the key from the next request on. It stays in the list as revoked.',
  responses: { 200: { description: 'Revoked', schema: apiKeySchema } },
  problems: ['not_found'],
  handle: async ({ context, caller, id }) => {
    return json(200, found(await revokeApiKey(context.db, id, changeBy(context, caller)), 'key'));
  },
});

const listNeeds = adminOperation({
  method: 'get',
  path: '/attention',
  operationId: 'listAttention',
  tag: 'Operator',
  scope: 'entities:read',
  summary: 'List entities by urgency',
  description:
    'Lists all entities, worst first: those with failing or suspended endpoints or overdue deliveries, then those with ' +
    'paused endpoints that hold deliveries or with paused sources, then the others by their backlog.',
  query: attentionQuerySchema,
  responses: taggedResponses(attentionListSchema),
  handle: async ({ context, request, query }) =>
    cacheableJson(request, await listAttention(context.db, query, nowS(context))),
});

export const adminOperations: readonly Operation[] = [
  listAllEntities,
  createEntity,
  listNeeds,
  visit,
  listAllKeys,
  createKey,
  revokeKey,
];
