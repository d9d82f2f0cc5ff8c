import { publicKeyListSchema, rotationSchema, secretImportSchema, secretListSchema } from '../../contract/secrets.ts';
import { formatOf } from '../../domain/secret-forms.ts';
import { toStored } from '../../domain/signing.ts';
import { importSecret, listSecrets, rotateSecret } from '../../store/tenants/secrets.ts';
import { rotateSigningKey } from '../../store/tenants/signing-keys.ts';
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
    'Every request to a webhook is signed with each of these secrets. The public keys verify `v1a` signatures without ' +
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

const importExisting = operation({
  method: 'put',
  path: '/webhooks/secret',
  operationId: 'importSecret',
  tag: 'Secrets',
  summary: 'Import a signing secret',
  description:
    'Makes a secret of another service the newest one, so that receivers keep the secret that they have. Requests are also ' +
    'signed with the previous secrets for `overlapHours`. Changes nothing if it is the newest one already.',
  permission: 'secrets:write',
  body: secretImportSchema,
  responses: { 200: { description: 'The active secrets, newest first', schema: secretListSchema } },
  problems: ['conflict'],
  handle: async ({ context, caller, body: { secret, format = formatOf(secret), overlapHours } }) => {
    const imported = { stored: toStored(secret, format), overlapHours };
    const { db, box } = context;
    return json(200, await importSecret(db, box, caller.entityId, imported, changeBy(context, caller)), UNCACHED);
  },
});

const rotateKey = operation({
  method: 'post',
  path: '/webhooks/signing-key/rotate',
  operationId: 'rotateSigningKey',
  tag: 'Secrets',
  summary: 'Rotate the signing key',
  description:
    'Creates a new Ed25519 key pair, which signs `v1a` where the operator has set `SIGN_ASYMMETRIC`. Requests are also ' +
    'signed with the previous keys for `overlapHours`, so that receivers can switch without rejecting a request. Use 0 ' +
    'after a leak: it revokes them immediately.',
  permission: 'secrets:write',
  body: rotationSchema,
  responses: { 201: { description: 'The active public keys, newest first', schema: publicKeyListSchema } },
  problems: ['conflict'],
  handle: async ({ context, caller, body }) => {
    const { db, box } = context;
    const rotated = await rotateSigningKey(db, box, caller.entityId, body.overlapHours, changeBy(context, caller));
    return json(201, rotated, UNCACHED);
  },
});

export const secretOperations: readonly Operation[] = [list, rotate, importExisting, rotateKey];
