import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { readPayloadFields } from '../../../src/domain/payload-filter/payload-fields.ts';

test('every field at the top of an object is found, with the text of its value', () => {
  const objects = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 3 }));
  fc.assert(
    fc.property(objects, fc.constantFrom('', ' ', '\t', 3), (object, indent) => {
      const body = `${indent === 3 ? '\n ' : ''}${JSON.stringify(object, null, indent)}${indent === 3 ? '\r\n' : ''}`;
      const fields = [...readPayloadFields(body)].map(([name, text]) => [name, JSON.parse(text)]);
      expect(Object.fromEntries(fields)).toEqual(JSON.parse(body));
    }),
    { numRuns: 300 },
  );
});

test('numbers keep every digit', () => {
  const body = '{"amount": 0.1000000000000000000001 , "big":123456789012345678901234567890,"last":-1.50E+2}';
  expect(Object.fromEntries(readPayloadFields(body))).toEqual({
    amount: '0.1000000000000000000001',
    big: '123456789012345678901234567890',
    last: '-1.50E+2',
  });
});

test('of a field that is given twice the last one counts, also when one of them is written with escapes', () => {
  expect(Object.fromEntries(readPayloadFields('{"a":1,"\\u0061":{"b":"}\\"]"},"c":[]}'))).toEqual({
    a: '{"b":"}\\"]"}',
    c: '[]',
  });
});

test('fields below the top are not found', () => {
  expect([...readPayloadFields('{"token":{"payee":"0x1"},"list":[{"payee":"0x2"}]}').keys()]).toEqual([
    'token',
    'list',
  ]);
});
