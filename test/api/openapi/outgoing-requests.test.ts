import { beforeAll, describe, expect, test } from 'bun:test';
import Ajv2020 from 'ajv/dist/2020.js';
import type { z } from 'zod';
import { OWN_SAMPLES } from '../../../src/contract/events/documented-samples.ts';
import type { PAYLOAD_SCHEMAS } from '../../../src/contract/events/payload-schemas.ts';
import { sampleEvent } from '../../../src/contract/events/samples.ts';
import { type RequestFacts, requestHeadersOf } from '../../../src/domain/endpoints/shown-headers.ts';
import { EVENT_KINDS } from '../../../src/domain/event-kinds.ts';
import type { EventsByKind } from '../../../src/verify/events.ts';
import { call, testApp } from '../../support/api.ts';

type Header = { name: string; in: string; required: boolean; description: string };
type Sent = {
  operationId: string;
  parameters: { $ref?: string }[];
  requestBody: { content: { 'application/json': { schema: object; examples: Record<string, { value: object }> } } };
  responses: Record<string, unknown>;
};
type Document = {
  webhooks: Record<string, { post: Sent }>;
  components: { parameters: Record<string, Header>; schemas: object };
};

const ALERTS = ['endpoint.failing', 'endpoint.recovered', 'webhook.suspended'];
/** Of the sender's trace: not stored, and so not among the headers that an attempt is shown with. */
const OF_TRACE = ['traceparent', 'tracestate'];
/** Every HTTP client sends these. */
const OF_HTTP = ['host', 'accept', 'content-type', 'content-length'];
const FACTS: RequestFacts = {
  deliveryId: 'dlv_1',
  eventId: 'evt_1',
  postUrl: 'https://example.com',
  startedAtMs: 0,
  bodyBytes: 2,
  endpointId: 'ep_1',
  sequence: 1,
  userAgent: 'Paybell',
  headerNames: [],
  bodySignatureHeader: 'x-signature',
};

type Plain<Value> = Value extends readonly (infer Item)[]
  ? Plain<Item>[]
  : Value extends object
    ? { [Name in keyof Value]-?: Plain<Exclude<Value[Name], undefined>> }
    : Value;
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
type Schemas = { [Kind in keyof typeof PAYLOAD_SCHEMAS]: z.output<(typeof PAYLOAD_SCHEMAS)[Kind]> };
type Compared = { [Kind in keyof EventsByKind]: Same<Plain<EventsByKind[Kind]>, Plain<Schemas[Kind]>> };

/** Does not compile where a schema has other fields than the type that receivers import. */
const HAS_TYPE: Compared = {
  AgreementSignedUp: true,
  AgreementCancelled: true,
  ScheduledAgreementCancel: true,
  TransferProcessed: true,
  TransferCreated: true,
  TransferFinalized: true,
  LatePayment: true,
  EventRetracted: true,
  'webhook.suspended': true,
  'endpoint.failing': true,
  'endpoint.recovered': true,
};

describe('the section webhooks of the OpenAPI document', () => {
  let document: Document;
  beforeAll(async () => {
    const settings = { EXTRA_EVENTS: 'RefundIssued', BODY_SIGNATURE_HEADER: 'x-signature' };
    document = (await (await call(testApp(undefined as never, settings), null, '/openapi.json')).json()) as Document;
  });

  const sent = (kind: string) => document.webhooks[kind]?.post as Sent;
  const contentOf = (kind: string) => sent(kind).requestBody.content['application/json'];
  const headersOf = (kind: string) =>
    sent(kind).parameters.map((given) => document.components.parameters[given.$ref?.split('/').at(-1) ?? ''] ?? given);

  test('has every kind of request that Paybell sends: events, those of the operator, retractions and alerts', () => {
    const kinds = [...EVENT_KINDS, 'RefundIssued', 'EventRetracted', ...ALERTS];
    expect(Object.keys(document.webhooks)).toEqual(kinds);
    expect(Object.keys(HAS_TYPE).sort()).toEqual(kinds.filter((kind) => kind !== 'RefundIssued').sort());
    for (const kind of kinds) expect(Object.keys(sent(kind).responses).sort()).toEqual(['2XX', '410', 'default']);
  });

  test('has a sample of each that its schema accepts, and one of its test request', () => {
    const ajv = new Ajv2020({ strict: false });
    ajv.addSchema({ $id: 'document', components: document.components });
    for (const kind of Object.keys(document.webhooks)) {
      const { schema, examples } = contentOf(kind);
      const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/')));
      for (const [name, { value }] of Object.entries(examples)) {
        expect({ kind, name, valid: validate(value), errors: validate.errors }).toMatchObject({ valid: true });
        expect(value).toMatchObject({ event: kind });
      }
      expect(validate({ event: kind })).toBe(false);
      const own = Object.keys(OWN_SAMPLES).includes(kind);
      expect(Object.keys(examples)).toEqual(own ? [expect.any(String)] : ['delivery', 'test']);
    }
    expect(contentOf('LatePayment').examples.test?.value).toMatchObject({ daysLate: 1, test: true });
  });

  test('accepts a payload with fields of the sender’s own, and one that Paybell read from a log that proves little', () => {
    const ajv = new Ajv2020({ strict: false });
    ajv.addSchema({ $id: 'document', components: document.components });
    const validate = ajv.compile({ $ref: 'document#/components/schemas/TransferFinalized' });
    expect(validate({ ...sampleEvent('TransferFinalized', 900, 'evt_1', 0), invoice: { lines: [1] } })).toBe(true);
    expect(validate({ event: 'TransferFinalized', networkId: 1, finality: 12, amountBase: '1' })).toBe(true);
    expect(validate({ event: 'TransferFinalized', networkId: 1, amount: 25 })).toBe(false);
  });

  test.each([
    ['an event', 'TransferFinalized', FACTS],
    ['a retraction', 'EventRetracted', FACTS],
    ['an alert', 'endpoint.failing', { ...FACTS, sequence: null }],
  ])('names the headers of %s, and no others', (_, kind, facts) => {
    const really = requestHeadersOf(facts).map(({ name }) => name);
    const named = headersOf(kind).map((header) => (header as Header).name);
    expect(named.filter((name) => !OF_TRACE.includes(name))).toEqual(really.filter((name) => !OF_HTTP.includes(name)));
    expect(named.filter((name) => OF_TRACE.includes(name))).toEqual(facts.sequence === null ? [] : OF_TRACE);
  });

  test('says of the number and the trace alone that a request can be without them, as a test request is', () => {
    const optional = (headersOf('LatePayment') as Header[]).filter(({ required }) => !required);
    expect(optional.map(({ name }) => name)).toEqual([
      'paybell-endpoint',
      'paybell-sequence',
      'paybell-sequence-signature',
      ...OF_TRACE,
    ]);
  });
});
