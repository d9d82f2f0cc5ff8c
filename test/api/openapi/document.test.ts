import { beforeAll, describe, expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { problemSchema } from '../../../src/api/http/problem-schema.ts';
import { PROBLEMS } from '../../../src/contract/problems.ts';
import { WEBHOOK_FIELDS } from '../../../src/contract/webhooks/fields.ts';
import { EVENT_KINDS } from '../../../src/domain/event-kinds.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { version } from '../../../src/version.ts';
import { call, testApp } from '../../support/api.ts';

type Schema = {
  $ref?: string;
  example?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  [key: string]: unknown;
};
type Content = Record<string, { schema: Schema; example?: unknown; examples?: Record<string, { value: unknown }> }>;
type Operation = {
  operationId: string;
  summary: string;
  security: Record<string, unknown>[];
  parameters?: { name: string; in: string; required: boolean; schema: Schema }[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, { description: string; content?: Content; headers?: Record<string, unknown> }>;
};
type Document = {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; securitySchemes: Record<string, unknown> };
};

/** The document never looks into the store. */
const NO_STORE = undefined as unknown as Database;
const SETTINGS = { ADMIN_KEY: 'x'.repeat(40), EXTRA_EVENTS: 'RefundIssued' };
const LIST = '/api/v1/crypto/webhooks/classic';

describe('the OpenAPI document', () => {
  let document: Document;
  let operations: Operation[];
  /** The names of those that only read. */
  let reads: Set<string>;

  beforeAll(async () => {
    const response = await call(testApp(NO_STORE, SETTINGS), null, '/openapi.json');
    expect(response.headers.get('content-type')).toBe('application/json');
    document = (await response.json()) as Document;
    operations = Object.values(document.paths).flatMap((path) => Object.values(path));
    reads = new Set(Object.values(document.paths).flatMap(({ get }) => (get === undefined ? [] : [get.operationId])));
  });

  const operationAt = (path: string, method: string) => document.paths[path]?.[method] as Operation;
  const resolve = (schema: Schema): Schema =>
    schema.$ref === undefined ? schema : (document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {});

  test('says that the URL for alerts can be null', () => {
    for (const name of ['NoticeUrl', 'NoticeUrlUpdate']) {
      expect(document.components.schemas[name]?.properties?.noticeUrl?.type).toEqual(['string', 'null']);
    }
  });

  test('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(structuredClone(document) as never);
    expect({ valid, errors }).toMatchObject({ valid: true });
    expect(validator.version).toBe('3.1');
    expect(document.info.version).toBe(version);
  });

  test('names both headers as security, and demands both of every operation of an entity', () => {
    expect(document.components.securitySchemes).toMatchObject({
      apiKey: { type: 'apiKey', in: 'header', name: 'api-key' },
      entityId: { type: 'apiKey', in: 'header', name: 'entity-id' },
    });
    for (const [path, methods] of Object.entries(document.paths)) {
      if (path.startsWith('/keys/')) continue;
      const demanded = path.startsWith('/admin/') ? [{ apiKey: [] }] : [{ apiKey: [], entityId: [] }];
      for (const operation of Object.values(methods)) expect(operation.security).toEqual(demanded);
    }
  });

  test('demands nothing of those who read a key set, and names no error of credentials there', () => {
    const { security, responses } = operationAt('/keys/{entityId}/jwks.json', 'get');
    expect(security).toEqual([]);
    expect(Object.keys(responses)).not.toContain('401');
    expect(Object.keys(responses)).not.toContain('403');
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['404', '429']));
  });

  test('gives the list’s parameters their true types, bounds, defaults and values', () => {
    const parameters = operationAt(LIST, 'get').parameters ?? [];
    expect(parameters.every((parameter) => parameter.in === 'query' && parameter.required === false)).toBe(true);
    const shown = parameters.map(({ name, schema: { description, example, ...schema } }) => [name, schema]);
    expect(Object.fromEntries(shown)).toEqual({
      webhookId: { type: 'string', minLength: 1 },
      networkId: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
      event: { type: 'string', enum: [...EVENT_KINDS] },
      page: { type: 'integer', minimum: 1, maximum: 90_000_000_000_000, default: 1 },
      limit: { type: 'integer', minimum: 1, maximum: 100, default: 25 },
      sortBy: { type: 'string', enum: ['dateCreated', 'postUrl'], default: 'dateCreated' },
      sortDir: { type: 'string', enum: ['asc', 'desc'], default: 'desc' },
    });
  });

  test('describes every parameter, and every path parameter is in its path', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const { parameters = [] } of Object.values(methods)) {
        for (const parameter of parameters) expect(parameter.schema.type).toBeString();
        const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`);
        expect(inPath).toEqual(path.match(/\{\w+\}/g) ?? []);
      }
    }
  });

  test('takes the seven events and the extra ones of the settings for a registration', () => {
    const body = operationAt(LIST, 'post').requestBody?.content['application/json']?.schema ?? {};
    expect(resolve(body).properties?.events?.items).toMatchObject({ enum: [...EVENT_KINDS, 'RefundIssued'] });
    expect(resolve(body)).toMatchObject({ additionalProperties: false, required: ['postUrl'] });
  });

  test('gives every operation a name of its own, a summary and an example of what goes in and comes out', () => {
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    const without = operations.flatMap(({ operationId, summary, requestBody, responses }) => {
      expect(summary).not.toBe('');
      const contents = [requestBody?.content, ...Object.values(responses).map(({ content }) => content)];
      return contents.flatMap((content) => Object.values(content ?? {})).every(hasExample) ? [] : [operationId];
    });
    expect(without).toEqual([]);
  });

  function hasExample({ schema, example, examples }: Content[string]): boolean {
    return example !== undefined || examples !== undefined || isExemplified(schema);
  }

  /** It has an example itself, or everything that it must have does. */
  function isExemplified(given: Schema): boolean {
    const schema = resolve(given);
    if (schema.example !== undefined || schema.default !== undefined) return true;
    const { required = [], properties = {} } = schema;
    return Object.keys(properties).length > 0 && required.every((name) => isExemplified(properties[name] ?? {}));
  }

  test('lists the error responses of every operation, with an example of each possible code', () => {
    for (const { responses, requestBody, security } of operations) {
      const always = ['400', '405', '414', '500', '503', ...(security.length > 0 ? ['401', '403'] : [])];
      expect(Object.keys(responses)).toEqual(expect.arrayContaining(always));
      if (requestBody !== undefined) expect(Object.keys(responses)).toEqual(expect.arrayContaining(['413', '415']));
      for (const [status, { content = {} }] of Object.entries(responses)) {
        if (Number(status) < 400) continue;
        const { examples = {} } = content['application/problem+json'] ?? {};
        expect(Object.keys(examples).length).toBeGreaterThan(0);
        for (const [code, { value }] of Object.entries(examples)) {
          expect(problemSchema.parse(value)).toMatchObject({ code: code as never, status: Number(status) });
          expect(PROBLEMS).toHaveProperty(code);
        }
      }
    }
  });

  test('says of every GET but those of secrets and of a stream that it has a tag, and that it can be 304', () => {
    const untagged = operations.filter(({ operationId, responses }) => {
      const kept = responses['304'] !== undefined && responses['200']?.headers?.ETag !== undefined;
      return reads.has(operationId) && !kept;
    });
    expect(reads.size).toBeGreaterThan(10);
    expect(untagged.map(({ operationId }) => operationId)).toEqual([
      'listEndpointSecrets',
      'listSecrets',
      'readListenRequests',
    ]);
  });

  test('says of every operation that a malformed Host is refused', () => {
    for (const { responses } of operations) {
      expect(responses['400']?.content?.['application/problem+json']?.examples).toHaveProperty('malformed_host');
    }
  });

  test('says that the list has the fields of a webhook and no others', () => {
    const list = operationAt(LIST, 'get').responses['200'];
    expect(list?.description).toBe('Ok');
    const schema = resolve(list?.content?.['application/json']?.schema ?? {});
    expect(schema.required).toEqual(['totalResults', 'webhooks']);
    const webhook = resolve(schema.properties?.webhooks?.items ?? {});
    expect(webhook.required).toEqual([...WEBHOOK_FIELDS]);
    expect(webhook.additionalProperties).toBe(false);
  });

  test('goes by the PROCESSOR of the settings, and shows the operator’s paths only where they exist', async () => {
    const plain = await call(testApp(NO_STORE, { PROCESSOR: 'paybridge' }), null, '/openapi.json');
    const paths = Object.keys(((await plain.json()) as Document).paths);
    expect(paths.filter((path) => !path.startsWith('/api/v1/paybridge/'))).toEqual(['/keys/{entityId}/jwks.json']);
  });
});
