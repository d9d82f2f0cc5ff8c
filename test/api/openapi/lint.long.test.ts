import { beforeAll, describe, expect, test } from 'bun:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { call, createTenant, type Tenant, testApp } from '../../support/api.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const SETTINGS = { ADMIN_KEY: 'x'.repeat(40), RATE_LIMIT: '100/s:200', EVENT_RATE_LIMIT: '100/s:200' };

type Headers = Record<string, { $ref?: string }>;
type Responses = Record<string, { headers?: Headers }>;
type Described = {
  operationId: string;
  security: object[];
  parameters?: { name: string; in: string }[];
  responses: Responses;
};
type Document = { paths: Record<string, Record<string, Described>> };

async function documentText(): Promise<string> {
  return (await call(testApp(undefined as never, SETTINGS), null, '/openapi.json')).text();
}

test('the OpenAPI document is clean to Redocly’s strictest rules', async () => {
  const config = await createConfig({ extends: ['recommended-strict'] });
  const problems = await lintFromString({ source: await documentText(), absoluteRef: '/openapi.json', config });
  expect(problems.map(({ ruleId, message, location }) => ({ ruleId, message, at: location[0]?.pointer }))).toEqual([]);
});

test('and the rules would find an error', async () => {
  const config = await createConfig({ extends: ['recommended-strict'] });
  const source = (await documentText()).replace('"operationId":"listWebhooks"', '"operationId":"readWebhook"');
  const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config });
  expect(problems.map(({ ruleId }) => ruleId)).toContain('operation-operationId-unique');
});

test('every operation that can find its precondition failed takes If-Match, and no other does', async () => {
  const { paths } = JSON.parse(await documentText()) as Document;
  const named = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .map(({ operationId, parameters = [], responses }) => ({
      operationId,
      takes: parameters.some((parameter) => parameter.in === 'header' && parameter.name === 'If-Match'),
      fails: '412' in responses,
    }));
  expect(named.filter(({ takes }) => takes).map(({ operationId }) => operationId)).toEqual([
    'updateWebhook',
    'deleteWebhook',
  ]);
  expect(named.filter(({ takes, fails }) => takes !== fails)).toEqual([]);
});

describe('the headers of responses', () => {
  let document: Document;
  beforeAll(async () => {
    document = JSON.parse(await documentText());
  });

  const every = () => Object.values(document.paths).flatMap((methods) => Object.values(methods));

  test('are named on every response: the request id, and what to do on 405, 429 and 503', () => {
    for (const { responses } of every()) {
      for (const [status, { headers = {} }] of Object.entries(responses)) {
        expect(headers).toHaveProperty('X-Request-Id');
        expect('Retry-After' in headers).toBe(status === '429' || status === '503');
        expect('Allow' in headers).toBe(status === '405');
      }
    }
  });

  test('tell of the rate limit where a key is counted, and not on the operator’s own paths', () => {
    for (const { security, responses } of every()) {
      const isOperators = !('entityId' in (security[0] ?? {}));
      for (const [status, { headers = {} }] of Object.entries(responses)) {
        const isCounted = !isOperators && !['401', '403', '405', '414'].includes(status);
        expect(['RateLimit' in headers, 'RateLimit-Policy' in headers]).toEqual([isCounted, isCounted]);
      }
    }
  });
});

onSuiteEngine('the headers that a response really has', (store) => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant(store.db);
  });

  test.each([
    ['a list', '/webhooks/classic', 200],
    ['an invalid input', '/webhooks/classic?limit=0', 400],
    ['one that is not there', '/webhooks/classic/wh_none', 404],
    ['one without a key', '/webhooks/classic', 401],
  ])('are those of the document: %s', async (_, path, status) => {
    const who = status === 401 ? null : tenant;
    const response = await call(testApp(store.db, SETTINGS), who, `/api/v1/crypto${path}`);
    expect(response.status).toBe(status);
    const { paths } = JSON.parse(await documentText()) as Document;
    const route = path.includes('wh_none') ? '/webhooks/classic/{webhookId}' : '/webhooks/classic';
    const described = paths[`/api/v1/crypto${route}`]?.get?.responses[status]?.headers ?? {};
    for (const name of ['RateLimit', 'RateLimit-Policy', 'X-Request-Id', 'Retry-After']) {
      expect({ name, given: response.headers.has(name) }).toEqual({ name, given: name in described });
    }
  });
});
