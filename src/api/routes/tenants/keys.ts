import { apiKeyListSchema, apiKeySchema, createdApiKeySchema } from '../../../contract/admin.ts';
import { invalidRequest, Problem } from '../../../contract/problems.ts';
import { newOwnKeySchema, ownKeyListQuerySchema, revokeOwnKeyQuerySchema } from '../../../contract/tenants/keys.ts';
import { isOperator } from '../../../domain/keys/api-keys.ts';
import { listApiKeys } from '../../../store/tenants/api-keys.ts';
import { createOwnKey, type KeyMaker, revokeOwnKey } from '../../../store/tenants/own-keys.ts';
import { type Caller, changeBy, expiryOf, nowS } from '../../context.ts';
import { found } from '../../http/found.ts';
import { cacheableJson, json, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

const list = operation({
  method: 'get',
  path: '/keys',
  operationId: 'listOwnKeys',
  tag: 'Keys',
  summary: 'List the API keys of the entity',
  description: 'Lists the API keys of the entity, including revoked and expired ones, without the keys themselves.',
  permission: 'keys:read',
  query: ownKeyListQuerySchema,
  responses: taggedResponses(apiKeyListSchema),
  handle: async ({ context, caller, request, query }) =>
    cacheableJson(request, await listApiKeys(context.db, { ...query, entityId: caller.entityId })),
});

const create = operation({
  method: 'post',
  path: '/keys',
  operationId: 'createOwnKey',
  tag: 'Keys',
  summary: 'Create an API key of the entity',
  description:
    'The key is in this response only and cannot be read again. A key can give the permissions that it has itself, until ' +
    'its own expiry. An entity has at most 100 keys in force.',
  permission: 'keys:write',
  body: newOwnKeySchema,
  responses: { 201: { description: 'Created', schema: createdApiKeySchema } },
  problems: ['key_limit'],
  handle: async ({ context, caller, body }) => {
    const { name, permissions, dateExpires } = body;
    const notHeld = permissions.find((permission) => !caller.permissions.has(permission));
    if (notHeld !== undefined) {
      throw new Problem(
        'missing_permission',
        `This key cannot give the permission ${notHeld}, which it does not have.`,
        {
          errors: [{ in: 'body', name: 'permissions', message: `must be permissions of this key, unlike ${notHeld}` }],
          permission: notHeld,
        },
      );
    }
    if (dateExpires != null && dateExpires <= nowS(context)) {
      throw invalidRequest([{ in: 'body', name: 'dateExpires', message: 'must be in the future' }]);
    }
    const key = { name, permissions, expiresAt: dateExpires };
    const created = await createOwnKey(context.db, caller.entityId, makerOf(caller), key, changeBy(context, caller));
    return json(201, created, { 'cache-control': 'no-store' });
  },
});

const revoke = operation({
  method: 'delete',
  path: '/keys/{keyId}',
  operationId: 'revokeOwnKey',
  tag: 'Keys',
  summary: 'Revoke an API key of the entity',
  description:
    'Every instance rejects the key from the next request on. It stays in the list as revoked. The key of the request ' +
    'itself needs `self=true`, and the last key, or the last one with `keys:write`, needs `last=true`.',
  permission: 'keys:write',
  query: revokeOwnKeyQuerySchema,
  responses: { 200: { description: 'Revoked', schema: apiKeySchema } },
  problems: ['not_found', 'key_in_use', 'last_key'],
  handle: async ({ context, caller, id, query }) => {
    const allowed = { self: query.self === 'true', last: query.last === 'true' };
    const change = changeBy(context, caller);
    const key = await revokeOwnKey(context.db, caller.entityId, ownKeyId(caller), id, allowed, change);
    return json(200, found(key, 'key'));
  },
});

function makerOf(caller: Caller): KeyMaker {
  const keyId = ownKeyId(caller);
  return keyId === null ? { keyId, expiresAt: expiryOf(caller) } : { keyId };
}

/** The id of the entity's key, or null for an operator's key, which is a setting. */
function ownKeyId({ keyId }: Caller): string | null {
  return isOperator(keyId) ? null : keyId;
}

export const keyOperations: readonly Operation[] = [list, create, revoke];
