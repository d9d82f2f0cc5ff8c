import { expect, spyOn, test } from 'bun:test';
import fc from 'fast-check';
import {
  canonicalFilter,
  compileFilter,
  filterErrors,
  Payload,
  type PayloadFilter,
} from '../../../src/domain/payload-filter/payload-filter.ts';

function matches(filter: PayloadFilter, payload: unknown): boolean {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload);
  return new Payload(body).matches(compileFilter(filter));
}

test.each([
  ['"100"', true],
  ['"100.000"', true],
  ['"99.999999999999999999"', false],
  ['"999.99"', true],
  ['"999.990000000000000000000000000001"', false],
  ['100', true],
  ['1e2', true],
  ['99.99999999999999999999999', false],
  ['"1e2"', false],
  ['" 100"', false],
  ['null', false],
  ['true', false],
  ['["100"]', false],
  ['{"value":"100"}', false],
])('the range 100 to 999.99 and the amount %s: %p', (amount, expected) => {
  expect(matches({ amount: { min: '100', max: '999.99' } }, `{"amount":${amount}}`)).toBe(expected);
});

test.each([
  ['a number', (digits: string) => digits],
  ['a number with a fraction', (digits: string) => `1.${digits}`],
  ['a text', (digits: string) => `"${digits}"`],
])('%s of more than 160 characters matches no range, and every shorter one may', (_, write) => {
  const isIn = (length: number) => {
    const written = write('1'.repeat(length));
    return matches({ amount: { min: '0' } }, `{"amount":${written}}`);
  };
  expect([150, 161, 250_000].map(isIn)).toEqual([true, false, false]);
});

test('a text is in a list however it is escaped, up to the longest that a list may have', () => {
  const value = 'é'.repeat(256);
  const escaped = '\\u00e9'.repeat(256);
  expect(matches({ memo: [value] }, `{"memo":"${escaped}"}`)).toBe(true);
  expect(matches({ memo: [value] }, `{"memo":"${escaped}\\u00e9"}`)).toBe(false);
});

test('the fields of a payload are read once for 10,000 filters, and an over-long number never', () => {
  const filters = Array.from({ length: 10_000 }, (_, at) =>
    compileFilter({ amount: { min: String(at) }, fee: { max: '9' }, memo: [`m${at}`] }),
  );
  const amount = '12345.000000000000000001';
  const exec = spyOn(RegExp.prototype, 'exec');
  const parses = (text: string) => exec.mock.calls.filter(([given]) => given === text).length;
  const ordinary = new Payload(`{"amount":${amount},"fee":"5.5","memo":"m7"}`);
  const huge = '9'.repeat(250_000);
  const overLong = new Payload(`{"amount":${huge},"fee":1}`);
  try {
    expect(filters.filter((filter) => ordinary.matches(filter))).toHaveLength(1);
    expect(filters.filter((filter) => overLong.matches(filter))).toHaveLength(0);
    expect({ amount: parses(amount), huge: parses(huge) }).toEqual({ amount: 1, huge: 0 });
  } finally {
    exec.mockRestore();
  }
});

test('a field that is missing matches nothing', () => {
  expect(matches({ amount: { min: '-1' } }, { token: 'USDC' })).toBe(false);
  expect(matches({ token: ['USDC'], payee: ['0x1'] }, { token: 'USDC' })).toBe(false);
});

test('addresses match without case, and other texts with it', () => {
  const checksummed = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
  for (const token of [checksummed, checksummed.toLowerCase(), `0x${checksummed.slice(2).toUpperCase()}`]) {
    expect(matches({ token: [checksummed] }, { token })).toBe(true);
    expect(matches({ token: [token] }, { token: checksummed })).toBe(true);
  }
  expect(matches({ currency: ['USDC'] }, { currency: 'usdc' })).toBe(false);
  const solana = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
  expect(matches({ token: [solana] }, { token: solana.toLowerCase() })).toBe(false);
});

test('the values of a list have types: a text is not the number or the boolean that it spells', () => {
  expect(matches({ n: [3, true] }, '{"n":3.0}')).toBe(true);
  expect(matches({ n: [3, true] }, '{"n":true}')).toBe(true);
  expect(matches({ n: [3, true] }, '{"n":"3"}')).toBe(false);
  expect(matches({ n: ['3', 'true', ''] }, '{"n":3}')).toBe(false);
  expect(matches({ n: ['3', 'true', ''] }, '{"n":true}')).toBe(false);
  expect(matches({ n: ['3', 'true', ''] }, '{"n":null}')).toBe(false);
});

test('a payload matches exactly when every field has one of its values, whatever else is in it', () => {
  const names = fc.constantFrom('token', 'payee', 'kind', 'n');
  const values = fc.oneof(
    fc.constantFrom('a', 'A', '0xAb', '0xaB', 'é', '"', '\\'),
    fc.integer({ min: -2, max: 2 }),
    fc.boolean(),
  );
  const key = (value: unknown) => (typeof value === 'string' && /^0x/.test(value) ? value.toLowerCase() : value);
  fc.assert(
    fc.property(
      fc.dictionary(names, fc.array(values, { minLength: 1, maxLength: 4 }), { minKeys: 1 }),
      fc.dictionary(fc.oneof(names, fc.string()), fc.oneof(values, fc.jsonValue({ maxDepth: 2 }))),
      (filter, payload) => {
        const expected = Object.entries(filter).every(
          ([name, list]) => Object.hasOwn(payload, name) && list.some((value) => key(value) === key(payload[name])),
        );
        expect(matches(filter, payload)).toBe(expected);
      },
    ),
    { numRuns: 1_000 },
  );
});

test('filters that want the same events have the same canonical text', () => {
  const one: PayloadFilter = { token: ['0xAB', 'x'], amount: { min: '10', max: '20.50' } };
  const same: PayloadFilter = { amount: { max: '20.5', min: '010.0' }, token: ['x', '0xab', 'x'] };
  expect(canonicalFilter(same)).toBe(canonicalFilter(one));
  for (const other of [
    { ...one, amount: { min: '10' } },
    { ...one, token: ['0xAB'] },
    { ...one, token: ['0xAB', 'X'] },
    { token: one.token ?? [] },
  ]) {
    expect(canonicalFilter(other)).not.toBe(canonicalFilter(one));
  }
});

test('every error of a filter is named at once', () => {
  const errors = filterErrors({
    token: [],
    payee: ['0x1', null, 1.5, 'x'.repeat(257)],
    amount: { min: '1e3', max: 10, avg: '1' },
    fee: {},
    tip: { min: '2', max: '1.99' },
    'a b': ['x'],
    kind: 'x',
  });
  expect(errors.map(({ path, message }) => `${path.join('.')} ${message}`)).toEqual([
    'token must have at least one value',
    ...[1, 2, 3].map((n) => `payee.${n} must be a string of at most 256 characters, a whole number, true or false`),
    'amount.min must be a decimal as a string, such as "10.50"',
    'amount.max must be a decimal as a string, such as "10.50"',
    'amount.avg is not a known field; give min or max',
    'fee must have min or max',
    'tip must have a min up to max',
    'a b must be the name of a payload field: at most 64 letters, digits, _, $, ., : or -',
    'kind must be a list of values, or a range such as {"min": "10", "max": "99.99"}',
  ]);
});

test('a filter has at most 20 fields and 1,000 values', () => {
  const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, ['x']]));
  expect(filterErrors(fields(20))).toEqual([]);
  expect(filterErrors(fields(21))).toEqual([{ path: [], message: 'must name at most 20 fields' }]);
  expect(filterErrors({ a: Array(600).fill('x'), b: Array(400).fill('x') })).toEqual([]);
  expect(filterErrors({ a: Array(600).fill('x'), b: Array(401).fill('x') })).toEqual([
    { path: [], message: 'must have at most 1000 values in all its lists' },
  ]);
  expect(filterErrors({})).toEqual([{ path: [], message: 'must name at least one field; null means no filter' }]);
  expect(filterErrors(JSON.parse('{"__proto__":["x"]}'))).toHaveLength(1);
});
