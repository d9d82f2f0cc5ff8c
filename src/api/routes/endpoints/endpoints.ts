import type { Config } from '../../../config.ts';
import {
  type EndpointRules,
  endpointDetailSchema,
  endpointListQuerySchema,
  endpointListSchema,
  endpointSchema,
  endpointSecretListSchema,
  endpointUpdateSchema,
} from '../../../contract/endpoints/endpoint.ts';
import {
  endpointWebhookListSchema,
  endpointWebhookQuerySchema,
} from '../../../contract/endpoints/endpoint-webhooks.ts';
import { invalidRequest } from '../../../contract/problems.ts';
import { rotationSchema } from '../../../contract/secrets.ts';
import { type GivenCertificate, readCertificate } from '../../../domain/endpoints/client-certificate.ts';
import { listEndpointSecrets, rotateEndpointSecret, updateEndpoint } from '../../../store/endpoints/change.ts';
import { listEndpoints, readEndpoint } from '../../../store/endpoints/read.ts';
import { readOldestStuck } from '../../../store/endpoints/stuck.ts';
import { listEndpointWebhooks } from '../../../store/endpoints/webhooks.ts';
import { requirePermission } from '../../auth/authenticate.ts';
import { type ApiContext, type Caller, changeBy, nowS } from '../../context.ts';
import { found } from '../../http/found.ts';
import { cacheableJson, json, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

/** Operations on endpoints: a URL of the entity with all webhooks that have it. */
export function endpointOperations(config: Config): Operation[] {
  const changed = update({ signatureHeader: config.BODY_SIGNATURE_HEADER });
  return [list, read, changed, listWebhooks, listSecrets, rotateSecret];
}

const list = operation({
  method: 'get',
  path: '/endpoints',
  operationId: 'listEndpoints',
  tag: 'Endpoints',
  summary: 'List endpoints',
  description:
    'Lists the endpoints of the entity that match all given filters, sorted and paginated. An endpoint is one URL with all ' +
    'webhooks that have it: it is created with the first of them and removed with the last.',
  permission: 'webhooks:read',
  query: endpointListQuerySchema,
  responses: taggedResponses(endpointListSchema),
  handle: async ({ context, caller, request, query }) =>
    cacheableJson(request, await listEndpoints(context.db, context.box, caller.entityId, query)),
});

const read = operation({
  method: 'get',
  path: '/endpoints/{endpointId}',
  operationId: 'readEndpoint',
  tag: 'Endpoints',
  summary: 'Retrieve an endpoint',
  permission: 'webhooks:read',
  responses: taggedResponses(endpointDetailSchema),
  problems: ['not_found'],
  handle: async ({ context: { db, box }, caller: { entityId }, request, id }) => {
    const endpoint = found(await readEndpoint(db, db.dialect, box, entityId, id), 'endpoint');
    return cacheableJson(request, { ...endpoint, oldestStuck: await readOldestStuck(db, entityId, id) });
  },
});

function update(rules: EndpointRules): Operation {
  return operation({
    method: 'patch',
    path: '/endpoints/{endpointId}',
    operationId: 'updateEndpoint',
    tag: 'Endpoints',
    summary: 'Update an endpoint',
    description:
      'Changes the given fields of an endpoint and leaves the others as they are. A pause holds the deliveries of all its ' +
      'webhooks; requests that are under way end as they would have.',
    permission: 'webhooks:write',
    body: endpointUpdateSchema(rules),
    responses: { 200: { description: 'The updated endpoint', schema: endpointSchema } },
    problems: ['not_found', 'conflict', 'ordered_deliveries_waiting'],
    handle: async ({ context, caller, id, body }) => {
      if (body.secret !== undefined) requirePermission(caller, 'secrets:write');
      const { clientCertificate: given, ...fields } = body;
      const checked = { ...fields, ...(given !== undefined && { clientCertificate: check(given, nowS(context)) }) };
      const updated = await updateEndpoint(target(context, caller, id), checked, changeBy(context, caller));
      context.onWork();
      return json(200, found(updated, 'endpoint'));
    },
  });
}

/** Null removes the certificate. */
function check(given: GivenCertificate | null, now: number) {
  const checked = given === null ? null : readCertificate(given, now);
  if (checked === null || !('field' in checked)) return checked;
  const { field, message } = checked;
  throw invalidRequest([{ in: 'body', name: `clientCertificate.${field}`, message }]);
}

const listWebhooks = operation({
  method: 'get',
  path: '/endpoints/{endpointId}/webhooks',
  operationId: 'listEndpointWebhooks',
  tag: 'Endpoints',
  summary: 'List the webhooks of an endpoint',
  description: 'Lists the webhooks that have the URL of the endpoint, with their state and their waiting deliveries.',
  permission: 'webhooks:read',
  query: endpointWebhookQuerySchema,
  responses: taggedResponses(endpointWebhookListSchema),
  problems: ['not_found'],
  handle: async ({ context: { db }, caller: { entityId }, request, id, query }) =>
    cacheableJson(request, found(await listEndpointWebhooks(db, entityId, id, query), 'endpoint')),
});

/** No cache may store secrets. */
const UNCACHED = { 'cache-control': 'no-store' };

const listSecrets = operation({
  method: 'get',
  path: '/endpoints/{endpointId}/secret',
  operationId: 'listEndpointSecrets',
  tag: 'Endpoints',
  summary: 'List the signing secrets of an endpoint',
  description:
    'Returns the secrets of this endpoint alone. There are none as long as its requests are signed with the secrets of the ' +
    'entity (`GET /webhooks/secret`).',
  permission: 'secrets:read',
  responses: { 200: { description: 'Ok', schema: endpointSecretListSchema } },
  problems: ['not_found'],
  handle: async ({ context, caller, id }) =>
    json(200, found(await listEndpointSecrets(target(context, caller, id), nowS(context)), 'endpoint'), UNCACHED),
});

const rotateSecret = operation({
  method: 'post',
  path: '/endpoints/{endpointId}/secret/rotate',
  operationId: 'rotateEndpointSecret',
  tag: 'Endpoints',
  summary: 'Rotate the signing secret of an endpoint',
  description:
    'Creates a new signing secret for this endpoint. For `overlapHours`, requests are also signed with the secrets ' +
    'in use before: the endpoint’s previous secrets, or the entity’s. Use 0 after a leak.',
  permission: 'secrets:write',
  body: rotationSchema,
  responses: { 201: { description: 'The active secrets, newest first', schema: endpointSecretListSchema } },
  problems: ['not_found', 'conflict'],
  handle: async ({ context, caller, id, body }) => {
    const change = changeBy(context, caller);
    const rotated = await rotateEndpointSecret(target(context, caller, id), body.overlapHours, change);
    return json(201, found(rotated, 'endpoint'), UNCACHED);
  },
});

function target({ db, box }: ApiContext, { entityId }: Caller, endpointId: string) {
  return { db, box, entityId, endpointId };
}
