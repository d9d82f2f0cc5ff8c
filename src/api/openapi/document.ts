import { OpenAPIRegistry, OpenApiGeneratorV31 } from '@asteasolutions/zod-to-openapi';
import type { z } from 'zod';
import { PROBLEMS, type ProblemCode } from '../../contract/problems.ts';
import { version } from '../../version.ts';
import { PROBLEM_TYPE, problemExample } from '../http/problem-response.ts';
import { problemSchema } from '../http/problem-schema.ts';
import type { Operation, Tag } from '../operation.ts';
import { commonHeaders, HEADER_COMPONENTS } from './headers.ts';
import { OUTGOING_TAG, type OutgoingSettings, outgoingRequests, SENT_HEADERS } from './outgoing-requests.ts';

/** The OpenAPI 3.1 document, generated from the declarations that also serve the requests. */
export function openApiDocument(
  routeOf: (operation: Operation) => string,
  operations: readonly Operation[],
  outgoing: OutgoingSettings,
): object {
  const registry = new OpenAPIRegistry();
  registry.registerComponent('securitySchemes', 'apiKey', {
    type: 'apiKey',
    in: 'header',
    name: 'api-key',
    description: 'An API key of the entity.',
  });
  registry.registerComponent('securitySchemes', 'entityId', {
    type: 'apiKey',
    in: 'header',
    name: 'entity-id',
    description: 'The id of the entity that the key belongs to.',
  });
  for (const [name, header] of Object.entries(HEADER_COMPONENTS)) registry.registerComponent('headers', name, header);
  for (const operation of operations) registry.registerPath(describe(routeOf(operation), operation));
  for (const [name, sent] of Object.entries(SENT_HEADERS)) registry.registerComponent('parameters', name, sent);
  for (const request of outgoingRequests(outgoing)) registry.registerWebhook(request);
  return new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: {
      title: 'Paybell',
      version,
      description: 'Webhooks for crypto payments: register webhooks, publish events, and follow their deliveries.',
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: [{ url: '/', description: 'This server' }],
    tags: [
      ...[...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name, description: TAGS[name] })),
      OUTGOING_TAG,
    ],
  });
}

const TAGS: Readonly<Record<Tag, string>> = {
  Webhooks: 'A webhook registers a URL for one event kind on one network.',
  Endpoints: 'An endpoint is one URL of the entity, with all webhooks that have it, and its settings.',
  Secrets: 'Every request to a webhook is signed with the secrets and the signing keys of the entity.',
  Events: 'An event is accepted once and delivered, byte for byte, to every webhook that matches it.',
  Deliveries: 'A delivery is one event on its way to one webhook, with all its attempts.',
  Chain:
    'A source turns the logs of a contract into events. A fact is the record of one log, and stays the same if a reorg moves its transaction.',
  Invoices: 'An invoice is an expected payment. Its state depends only on its payments.',
  'Listen sessions': 'A listen session forwards events to a program without a public URL, for example on a laptop.',
  Keys: 'The API keys of the entity. A key can create other keys with its own permissions.',
  Audit: 'The audit log records every change of an entity.',
  Operator: 'Entities and their API keys. These operations require `ADMIN_KEY` or one of `ADMIN_KEYS`.',
};

function describe(path: string, operation: Operation) {
  const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path' as const,
    required: true,
    schema: { type: 'string' as const },
  }));
  const parameters = operation.problems?.includes('precondition_failed') ? [...inPath, IF_MATCH] : inPath;
  return {
    method: operation.method,
    path,
    operationId: operation.operationId,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    security: securityOf(operation),
    'x-permission': operation.permission,
    ...(parameters.length === 0 ? {} : { parameters }),
    request: {
      ...(operation.query === null ? {} : { query: operation.query }),
      ...requestBody(operation),
    },
    responses: { ...successes(operation), ...problems(operation) },
  };
}

const IF_MATCH = {
  name: 'If-Match',
  in: 'header' as const,
  description:
    'The ETag of the resource as you read it. The request fails with 412 if the resource has changed since then.',
  schema: { type: 'string' as const },
};

function securityOf({ permission }: Operation) {
  if (permission === 'none') return [];
  return [permission === 'operator' ? { apiKey: [] } : { apiKey: [], entityId: [] }];
}

/** Whether requests of the operation count against the rate limit of a key. */
function isCounted({ permission }: Operation): boolean {
  return permission !== 'operator' && permission !== 'none';
}

function requestBody({ body, rawBody }: Operation) {
  if (rawBody !== null) {
    return { body: { required: true, content: { [rawBody.contentType]: { schema: rawBody.schema } } } };
  }
  return body === null ? {} : { body: { required: !body.safeParse({}).success, content: jsonContent(body) } };
}

function jsonContent(schema: z.ZodType) {
  return { 'application/json': { schema } };
}

function eventStreamContent(example: string | undefined) {
  if (example === undefined) return {};
  return { 'text/event-stream': { schema: { type: 'string' as const }, example } };
}

function contentOf(schema: z.ZodType | undefined, eventStream: string | undefined) {
  if (schema === undefined && eventStream === undefined) return {};
  const inJson = schema === undefined ? {} : jsonContent(schema);
  return { content: { ...inJson, ...eventStreamContent(eventStream) } };
}

function successes(operation: Operation) {
  return Object.fromEntries(
    Object.entries(operation.responses).map(([status, { description, schema, headers, eventStream }]) => [
      status,
      {
        description,
        ...contentOf(schema, eventStream),
        headers: { ...describeHeaders(headers ?? {}), ...commonHeaders(Number(status), isCounted(operation)) },
      },
    ]),
  );
}

function describeHeaders(headers: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' as const } }]),
  );
}

const COMMON_PROBLEMS: readonly ProblemCode[] = [
  'invalid_request',
  'malformed_host',
  'method_not_allowed',
  'url_too_long',
  'rate_limited',
  'internal',
  'unavailable',
];

const CREDENTIAL_PROBLEMS: readonly ProblemCode[] = ['unauthenticated', 'wrong_entity'];

const BODY_PROBLEMS: readonly ProblemCode[] = [
  'invalid_json',
  'incomplete_body',
  'body_too_large',
  'unsupported_media_type',
];

/** One response for each status, with an example of every code that it can have. */
function problems(operation: Operation) {
  const hasBody = operation.body !== null || operation.rawBody !== null;
  const codes = [
    ...COMMON_PROBLEMS,
    ...(operation.permission === 'none' ? [] : CREDENTIAL_PROBLEMS),
    ...(['none', 'any'].includes(operation.permission) ? [] : (['missing_permission'] as const)),
    ...(hasBody ? BODY_PROBLEMS : []),
    ...(operation.problems ?? []),
  ];
  const byStatus = Object.groupBy(codes, (code) => PROBLEMS[code].status);
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, same = []]) => [
      status,
      {
        description: same.map((code) => PROBLEMS[code].title).join('; '),
        headers: commonHeaders(Number(status), isCounted(operation)),
        content: {
          [PROBLEM_TYPE]: {
            schema: problemSchema,
            examples: Object.fromEntries(same.map((code) => [code, { value: problemExample(code) }])),
          },
        },
      },
    ]),
  );
}
