import fc from 'fast-check';
import { NETWORK } from '../support/chain/logs.ts';
import { type ApiDocument, type FuzzedOperation, resolveSchema, type Schema } from './document.ts';
import {
  HOSTILE_BYTES,
  HOSTILE_HEADERS,
  HOSTILE_JSON,
  HOSTILE_NUMBERS,
  HOSTILE_STRINGS,
  HOSTILE_TYPES,
  HOSTILE_URLS,
  PROTOTYPE_KEYS,
} from './hostile-values.ts';
import { MALFORMATIONS, type Malformation } from './transports.ts';

/** An id that the service has returned, chosen when the request is sent, or any text. */
export type FuzzedId = { readonly nth: number } | { readonly text: string };

export type Credentials =
  | 'owner'
  | 'operator'
  | 'stranger'
  | 'none'
  | 'mixed'
  | { readonly key: string; readonly entity: string };

/** A request without its ids and credentials, which are filled in when it is sent. */
export type FuzzedRequest = {
  /** Its name, so that a counterexample can be read. */
  readonly operation: string;
  readonly method: string;
  readonly id: FuzzedId;
  readonly query: readonly (readonly [name: string, value: FuzzedId])[];
  readonly rawQuery: string | null;
  readonly credentials: Credentials;
  readonly contentType: string | null;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | Uint8Array<ArrayBuffer> | null;
  readonly malformation: Malformation | null;
};

const anyText = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...HOSTILE_STRINGS) },
  { weight: 2, arbitrary: fc.constantFrom(...HOSTILE_NUMBERS) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
);

const anyJson = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<unknown>(null, true, -1, 2.5, 2 ** 53, [], {}, [[]], '') },
  { weight: 2, arbitrary: anyText },
  { weight: 1, arbitrary: fc.constantFrom(...HOSTILE_URLS) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
);

const anyId: fc.Arbitrary<FuzzedId> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ nth: fc.nat({ max: 1_000 }) }) },
  { weight: 2, arbitrary: fc.record({ text: anyText }) },
);

const MANY_PARAMETERS = [300, 10_000].map((count) => Array.from({ length: count }, (_, i) => `p${i}=${i}`).join('&'));
const RAW_QUERIES = [
  '%zz=1',
  '%=%',
  'a=%ff',
  '&&&&',
  '=',
  '=1',
  'page',
  'page=1&page=2',
  'page[]=1',
  'a;b',
  '?',
  '#',
  ...MANY_PARAMETERS,
];

const OTHER_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

const malformations = Object.keys(MALFORMATIONS) as Malformation[];

const HEADER_NAMES = [
  'if-match',
  'if-none-match',
  'origin',
  'accept',
  'accept-encoding',
  'x-forwarded-for',
  'range',
  'x-request-id',
  'content-encoding',
  'access-control-request-method',
];

/** Values that the schema allows. */
function valid(document: ApiDocument, given: Schema): fc.Arbitrary<unknown> {
  const schema = resolveSchema(document, given);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case 'integer':
    case 'number':
      return fc.maxSafeInteger().map((value) => clamp(value, schema));
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(valid(document, schema.items ?? {}), { minLength: schema.minItems ?? 0, maxLength: 4 });
    case 'object':
      return validObject(document, schema);
    case 'string':
      return validString(schema);
    default:
      return anyJson;
  }
}

function clamp(value: number, { minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: Schema): number {
  const small = Math.abs(value) % 4 < 2 ? Math.abs(value) % 12 : Math.abs(value);
  return Math.min(Math.max(small, minimum), maximum);
}

function validString({ example, pattern }: Schema): fc.Arbitrary<string> {
  const urls = fc.nat({ max: 20 }).map((path) => `https://example.com/${path}`);
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  return typeof example === 'string' ? fc.oneof(fc.constant(example), urls) : fc.oneof(urls, fc.string());
}

function validObject(document: ApiDocument, { properties = {}, required = [] }: Schema): fc.Arbitrary<unknown> {
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, validField(document, name, schema)]),
  );
  return fc.record(fields, { requiredKeys: required });
}

/** Paybell reads one network here (`FuzzRun`). */
function validField(document: ApiDocument, name: string, schema: Schema): fc.Arbitrary<unknown> {
  if (/url$/i.test(name)) return validString({ example: 'https://example.com/hook' });
  const any = valid(document, schema);
  return name === 'networkId' ? fc.oneof(any, fc.constant(NETWORK)) : any;
}

/** A valid body with one error. */
function withOneError(right: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc
    .tuple(right, fc.constantFrom('replace', 'add', 'remove', 'wrap'), fc.nat(), anyText, anyJson)
    .map(([value, how, at, name, junk]) => {
      if (how === 'wrap' || typeof value !== 'object' || value === null || Array.isArray(value)) return [value];
      const entries = Object.entries(value);
      if (how === 'add') entries.push([name, junk]);
      else if (how === 'remove') entries.splice(at % (entries.length || 1), 1);
      else if (entries.length > 0) entries[at % entries.length] = [entries[at % entries.length]?.[0] ?? '', junk];
      // Not an assignment, since that would set the prototype for the name `__proto__`.
      return Object.fromEntries(entries);
    });
}

function bodies(document: ApiDocument, { body }: FuzzedOperation): fc.Arbitrary<FuzzedRequest['body']> {
  const junk = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom<string | Uint8Array<ArrayBuffer>>(...HOSTILE_JSON) },
    { weight: 1, arbitrary: fc.constantFrom(...HOSTILE_BYTES) },
  );
  if (body === null) return fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: junk });
  const { example } = resolveSchema(document, body.schema);
  const made = valid(document, body.schema);
  // A whole example gets past checks that compare its fields.
  const right = example === undefined ? made : fc.oneof(made, fc.constant(example));
  const one = fc.oneof(
    { weight: 5, arbitrary: right },
    { weight: 4, arbitrary: withOneError(right) },
    { weight: 1, arbitrary: anyJson },
  );
  const text = body.contentType.includes('ndjson')
    ? fc.array(one, { maxLength: 5 }).map((lines) => lines.map((line) => JSON.stringify(line)).join('\n'))
    : one.map((value) => JSON.stringify(value));
  return fc.oneof(
    { weight: 8, arbitrary: text },
    { weight: 2, arbitrary: junk },
    { weight: 1, arbitrary: fc.constant(null) },
  );
}

function queries(document: ApiDocument, { query }: FuzzedOperation): fc.Arbitrary<FuzzedRequest['query']> {
  const known = query.map(({ name, schema }) =>
    fc.tuple(
      fc.constant(name),
      fc.oneof<fc.Arbitrary<FuzzedId>[]>(
        valid(document, schema).map((value) => ({ text: String(value) })),
        anyId,
      ),
    ),
  );
  const unknown = fc.tuple(fc.oneof(fc.constantFrom(...PROTOTYPE_KEYS), anyText), anyId);
  const some = known.length === 0 ? fc.constant([]) : fc.array(fc.oneof(...known), { maxLength: 3 });
  return fc
    .tuple(some, fc.array(unknown, { maxLength: 1 }))
    .map(([named, other]) => [...named, ...(named.length % 2 === 0 ? [] : other)]);
}

function credentials({ isForOperator }: FuzzedOperation): fc.Arbitrary<Credentials> {
  const made = fc.record({ key: fc.constantFrom(...HOSTILE_HEADERS), entity: fc.constantFrom(...HOSTILE_HEADERS) });
  return fc.oneof(
    { weight: isForOperator ? 1 : 16, arbitrary: fc.constant('owner' as const) },
    { weight: isForOperator ? 16 : 2, arbitrary: fc.constant('operator' as const) },
    { weight: 1, arbitrary: fc.constantFrom('stranger' as const, 'none' as const, 'mixed' as const) },
    { weight: 1, arbitrary: made },
  );
}

/** Mostly requests that pass authentication and routing, since the code after them is more likely to fail. */
export function fuzzedRequests(
  document: ApiDocument,
  operations: readonly FuzzedOperation[],
): fc.Arbitrary<FuzzedRequest> {
  return fc.constantFrom(...operations).chain((operation) =>
    fc.record({
      operation: fc.constant(operation.name),
      method: mostly(operation.method, fc.constantFrom(...OTHER_METHODS)),
      id: anyId,
      query: queries(document, operation),
      rawQuery: mostly(null, fc.constantFrom(...RAW_QUERIES)),
      credentials: credentials(operation),
      contentType: mostly(operation.body?.contentType ?? null, fc.constantFrom(...HOSTILE_TYPES)),
      headers: fc.array(fc.tuple(fc.constantFrom(...HEADER_NAMES), fc.constantFrom(...HOSTILE_HEADERS)), {
        maxLength: 2,
      }),
      body: bodies(document, operation),
      malformation: mostly(null, fc.constantFrom(...malformations)),
    }),
  );
}

function mostly<Value>(usual: Value, otherwise: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return fc.oneof({ weight: 15, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: otherwise });
}
