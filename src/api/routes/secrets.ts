import { rotationSchema, secretListSchema } from '../../contract/secrets.ts';
import { listSecrets, rotateSecret } from '../../store/tenants/secrets.ts';
import { changeBy, nowS } from '../context.ts';
import { json } from '../http/responses.ts';
import { type Operation, operation } from '../operation.ts';

/** Secrets are for the caller's eyes: no cache on the way keeps them. */
const UNCACHED = { 'cache-control': 'no-store' };

const list = operation({
  method: 'get',
  path: '/webhooks/secret',
  operationId: 'listSecrets',
  tag: 'Secrets',
  summary: 'Read the signing secrets in force',
  description: 'Every post is signed with each of them. The public key checks `v1a` signatures without any secret.',
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
  summary: 'Make a new signing secret',
  description:
    'Older secrets go on signing beside the new one for `overlapHours`, so that receivers can change over without ' +
    'missing a post. 0 ends them at once: for a secret that has leaked.',
  permission: 'secrets:write',
  body: rotationSchema,
  responses: { 201: { description: 'The secrets now in force, newest first', schema: secretListSchema } },
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
