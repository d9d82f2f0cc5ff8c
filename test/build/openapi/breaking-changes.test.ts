import { describe, expect, test } from 'bun:test';
import { findBreakingChanges } from '../../../build/openapi/breaking-changes.ts';
import { type Document, withoutTexts } from '../../../build/openapi/document.ts';
import { changesSince, currentDocument, releasedVersions } from '../../../build/openapi/released.ts';

const RELEASED = {
  openapi: '3.1.0',
  paths: {
    '/things': {
      get: {
        operationId: 'listThings',
        'x-permission': 'things:read',
        security: [{ apiKey: [] }],
        parameters: [
          {
            name: 'limit',
            in: 'query',
            description: 'How many.',
            schema: { type: 'integer', minimum: 1, maximum: 100 },
          },
          { name: 'kind', in: 'query', schema: { type: 'string', enum: ['small', 'large'] } },
        ],
        responses: {
          200: {
            description: 'Ok',
            headers: { ETag: { schema: { type: 'string' } } },
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Things' } } },
          },
          404: { description: 'Not found' },
        },
      },
      post: {
        operationId: 'makeThing',
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/NewThing' } } } },
        responses: {
          201: {
            description: 'Made',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
          },
        },
      },
    },
  },
  webhooks: {
    ThingMade: {
      post: {
        operationId: 'receiveThingMade',
        parameters: [{ $ref: '#/components/parameters/Signature' }],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
        },
        responses: { '2XX': { description: 'Ok' } },
      },
    },
  },
  components: {
    parameters: { Signature: { name: 'signature', in: 'header', required: true, schema: { type: 'string' } } },
    schemas: {
      Problem: { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] },
      Things: {
        type: 'object',
        properties: { things: { type: 'array', items: { $ref: '#/components/schemas/Thing' } } },
        required: ['things'],
      },
      Thing: {
        type: 'object',
        properties: {
          id: { type: 'string', format: 'uuid' },
          state: { type: 'string', enum: ['new', 'old'] },
          description: { type: ['string', 'null'] },
          size: { anyOf: [{ type: 'integer' }, { type: 'string', enum: ['unknown'] }] },
          parts: { type: 'array', items: { $ref: '#/components/schemas/Thing' } },
        },
        required: ['id', 'state'],
        additionalProperties: false,
      },
      NewThing: {
        type: 'object',
        properties: {
          name: { type: 'string', minLength: 1, maxLength: 20 },
          tags: { type: 'object', additionalProperties: { type: 'string' } },
        },
        additionalProperties: false,
      },
    },
  },
};

type Draft = typeof RELEASED;
// biome-ignore lint/suspicious/noExplicitAny: a draft is changed in ways that its type does not have
type Change = (draft: any) => unknown;

function changesAfter(change: Change): string[] {
  const current: Draft = structuredClone(RELEASED);
  change(current);
  return findBreakingChanges(withoutTexts(RELEASED), withoutTexts(current));
}

const listed = 'GET /things';

describe('a change of the API', () => {
  test.each<[string, Change, string[]]>([
    ['a path that is gone', (d) => delete d.paths['/things'], [`${listed}: is removed`, 'POST /things: is removed']],
    [
      'another name of the operation',
      (d) => (d.paths['/things'].get.operationId = 'getThings'),
      [`${listed}: operationId was listThings`],
    ],
    [
      'another permission',
      (d) => (d.paths['/things'].get['x-permission'] = 'all:read'),
      [`${listed}: needs all:read now`],
    ],
    [
      'other credentials',
      (d) => (d.paths['/things'].get.security[0].other = []),
      [`${listed}: needs other credentials`],
    ],
    ['a parameter that is gone', (d) => d.paths['/things'].get.parameters.pop(), [`${listed}: query kind is removed`]],
    [
      'a parameter that is required',
      (d) => (d.paths['/things'].get.parameters[0].required = true),
      [`${listed}: query limit is required now`],
    ],
    [
      'a new parameter that is required',
      (d) => d.paths['/things'].get.parameters.push({ name: 'n', in: 'query', required: true }),
      [`${listed}: query n is required now`],
    ],
    [
      'a lower maximum',
      (d) => (d.paths['/things'].get.parameters[0].schema.maximum = 50),
      [`${listed}: query limit: maximum is 50, and was 100`],
    ],
    [
      'a higher minimum',
      (d) => (d.paths['/things'].get.parameters[0].schema.minimum = 2),
      [`${listed}: query limit: minimum is 2, and was 1`],
    ],
    [
      'a value that is not accepted',
      (d) => d.paths['/things'].get.parameters[1].schema.enum.pop(),
      [`${listed}: query kind: "large" is not accepted any more`],
    ],
    [
      'another type of a parameter',
      (d) => (d.paths['/things'].get.parameters[0].schema.type = 'string'),
      [`${listed}: query limit: integer is not accepted any more`],
    ],
    [
      'a member of a body that is required',
      (d) => (d.components.schemas.NewThing.required = ['name']),
      ['POST /things: body.name: is required now'],
    ],
    [
      'a member of a body that is gone',
      (d) => delete d.components.schemas.NewThing.properties.name,
      ['POST /things: body.name: is not accepted any more'],
    ],
    [
      'a member of a map of another type',
      (d) => (d.components.schemas.NewThing.properties.tags.additionalProperties.type = 'integer'),
      ['POST /things: body.tags.*: string is not accepted any more'],
    ],
    [
      'a pattern that was not there',
      (d) => (d.components.schemas.NewThing.properties.name.pattern = '^a'),
      ['POST /things: body.name: has another pattern'],
    ],
    [
      'a body that is required',
      (d) => (d.paths['/things'].post.requestBody.required = true),
      ['POST /things: needs a body now'],
    ],
    [
      'another type of content',
      (d) => (d.paths['/things'].get.responses[200].content = { 'text/plain': {} }),
      [`${listed}: 200: application/json is removed`],
    ],
    [
      'a status that is gone',
      (d) => delete d.paths['/things'].post.responses[201],
      ['POST /things: does not respond with 201 any more'],
    ],
    [
      'a header that is gone',
      (d) => delete d.paths['/things'].get.responses[200].headers.ETag,
      [`${listed}: 200 has no header ETag any more`],
    ],
    [
      'an error without its code',
      (d) => (d.components.schemas.Problem.required = []),
      ['errors.code: can be absent now'],
    ],
    ['a request that is sent no more', (d) => delete d.webhooks.ThingMade, ['webhook ThingMade: is removed']],
    [
      'a header that is sent no more',
      (d) => (d.webhooks.ThingMade.post.parameters = []),
      ['webhook ThingMade: header signature is removed'],
    ],
    [
      'a header that can be absent',
      (d) => (d.components.parameters.Signature.required = false),
      ['webhook ThingMade: header signature can be absent now'],
    ],
  ])('breaks programs: %s', (_what, change, expected) => {
    expect(changesAfter(change)).toEqual(expected);
  });

  const SEEN_AT = [`${listed}: 200.things[]`, 'POST /things: 201', 'webhook ThingMade: body'];
  test.each<[string, Change, string]>([
    ['a field that is gone', (d) => delete d.components.schemas.Thing.properties.state, '.state: is removed'],
    ['an optional field that is gone', (d) => delete d.components.schemas.Thing.properties.size, '.size: is removed'],
    ['a field that can be absent', (d) => d.components.schemas.Thing.required.pop(), '.state: can be absent now'],
    [
      'a field that can be null',
      (d) => (d.components.schemas.Thing.properties.id.type = ['string', 'null']),
      '.id: can be null, and was string',
    ],
    [
      'a value that is new',
      (d) => d.components.schemas.Thing.properties.state.enum.push('lost'),
      '.state: "lost" is a new value',
    ],
    [
      'a type that is new',
      (d) => d.components.schemas.Thing.properties.size.anyOf.push({ type: 'boolean' }),
      '.size: can be boolean, and was integer',
    ],
    ['any value', (d) => delete d.components.schemas.Thing.properties.state.enum, '.state: can have any value now'],
    ['another format', (d) => delete d.components.schemas.Thing.properties.id.format, '.id: has another format'],
  ])('breaks those that read it, wherever it is: %s', (_what, change, expected) => {
    expect(changesAfter(change)).toEqual(SEEN_AT.map((place) => `${place}${expected}`));
  });

  test.each<[string, Change]>([
    ['another text', (d) => (d.paths['/things'].get.parameters[0].description = 'At most.')],
    [
      'a new path, parameter, header, status and error',
      (d) => {
        d.paths['/others'] = d.paths['/things'];
        d.paths['/things'].get.parameters.push({ name: 'page', in: 'query', schema: { type: 'integer' } });
        d.paths['/things'].get.responses[200].headers.Age = {};
        d.paths['/things'].get.responses[304] = { description: 'Not modified' };
        delete d.paths['/things'].get.responses[404];
      },
    ],
    ['a new field of a response', (d) => (d.components.schemas.Thing.properties.colour = { type: 'string' })],
    ['a new field of a body', (d) => (d.components.schemas.NewThing.properties.colour = { type: 'string' })],
    ['a field that is always there now', (d) => d.components.schemas.Thing.required.push('size')],
    ['a value that is not sent any more', (d) => d.components.schemas.Thing.properties.state.enum.pop()],
    ['one of two types', (d) => d.components.schemas.Thing.properties.size.anyOf.pop()],
    [
      'wider bounds',
      (d) => (d.components.schemas.NewThing.properties.name = { type: 'string', minLength: 0, maxLength: 99 }),
    ],
    ['a new value of a parameter', (d) => d.paths['/things'].get.parameters[1].schema.enum.push('huge')],
    ['a number where there was an integer', (d) => (d.paths['/things'].get.parameters[0].schema.type = 'number')],
    ['a new request that is sent', (d) => (d.webhooks.ThingLost = d.webhooks.ThingMade)],
  ])('breaks no program: %s', (_what, change) => {
    expect(changesAfter(change)).toEqual([]);
  });

  test('is seen in a field whose name is also a word of OpenAPI', () => {
    expect(changesAfter((draft) => delete draft.components.schemas.Thing.properties.description)).toHaveLength(
      SEEN_AT.length,
    );
  });
});

describe('the API of this checkout', () => {
  const last = releasedVersions().at(-1) ?? '';

  test(`breaks no program since ${last}, but for what was accepted with a reason`, async () => {
    expect(await changesSince(last, await currentDocument())).toEqual({ breaking: [], staleReasons: [] });
  });

  test('would be found to break programs if the list of webhooks were gone', async () => {
    const { paths, ...rest } = (await currentDocument()) as Document;
    const { '/api/v1/crypto/webhooks/classic': list, ...others } = paths;
    expect(Object.keys(list ?? {})).toContain('get');
    const { breaking } = await changesSince(last, { ...rest, paths: others });
    expect(breaking).toContain('GET /api/v1/crypto/webhooks/classic: is removed');
  });
});
