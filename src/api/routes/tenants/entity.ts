import { callerSchema } from '../../../contract/tenants/entity.ts';
import { PERMISSIONS } from '../../../domain/keys/api-keys.ts';
import { readCaller } from '../../../store/tenants/entities.ts';
import { expiryOf } from '../../context.ts';
import { cacheableJson, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

const read = operation({
  method: 'get',
  path: '/entity',
  operationId: 'readEntity',
  tag: 'Keys',
  summary: 'Read the entity and the permissions of the key',
  description: 'Returns the entity that the key belongs to, and what the key may do. Every valid key may call it.',
  permission: 'any',
  responses: taggedResponses(callerSchema),
  handle: async ({ context, caller, request }) => {
    const { entityId, keyId } = caller;
    const { name, dateExpires: ofEntityKey } = await readCaller(context.db, entityId, keyId);
    const dateExpires = ofEntityKey ?? expiryOf(caller);
    const permissions = PERMISSIONS.filter((permission) => caller.permissions.has(permission));
    return cacheableJson(request, { entityId, name, keyId, permissions, dateExpires });
  },
});

export const entityOperations: readonly Operation[] = [read];
