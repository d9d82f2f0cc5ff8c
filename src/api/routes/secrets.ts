import { rotationSchema, secretListSchema } from '../../contract/secrets.ts';
import { listSecrets, rotateSecret } from '../../store/tenants/secrets.ts';
import { changeBy, nowS } from '../context.ts';
import { json } from '../http/responses.ts';
import { type Operation, operation } from '../operation.ts';

/** No cache may store secrets. */
const UNCACHED = { 'cache-control': 'no-store' };

const list = operation({
  method: 'get',
  path: '/webhooks/secret',
  operationId: 'listSecrets',
  tag: 'Secrets',
  summary: 'List the signing secrets',
  description:
    'Every request to a webhook is signed with each of these secrets. The public key verifies `v1a` signatures without ' +
    'a secret.',
  permission: 'secrets:read',
  responses: { 200: { description: 'Ok', schema: secretListSchema } },
  handle: async ({ context, caller }) =>
    json(200, await listSecrets(context.db, context.box, caller.entityId, nowS(context)), UNCACHED),
});

const rotate = operation({
  method: 'post',
  path: '/webhooks/secret/rotate',
  operationId: 'rotateSecret',
  tag: 'Secrets',
  summary: 'Rotate the signing secret',
  description:
    'Creates a new signing secret. Requests are also signed with the previous secrets for `overlapHours`, so that ' +
    'receivers can switch without rejecting a request. Use 0 after a leak: it revokes them immediately.',
  permission: 'secrets:write',
  body: rotationSchema,
  responses: { 201: { description: 'The active secrets, newest first', schema: secretListSchema } },
  problems: ['conflict'],
  handle: async ({ context, caller, body }) => {
    const { db, box } = context;
    return json(
      201,
      await rotateSecret(db, box, caller.entityId, body.overlapHours, changeBy(context, caller)),
      UNCACHED,
    );
  },
});

export const secretOperations: readonly Operation[] = [list, rotate];
