import { expect, test } from 'bun:test';
import { z } from 'zod';
import { QueryParser } from '../../src/api/operation.ts';

function countingParser() {
  let parsed = 0;
  const limit = z.string().transform((text) => {
    parsed += 1;
    return Number(text);
  });
  const parser = new QueryParser(z.strictObject({ limit: limit.optional() }));
  return { parser, parsed: () => parsed };
}

test('a query that came before is not parsed again, and its shared value cannot be changed', () => {
  const { parser, parsed } = countingParser();
  const first = parser.parse('limit=25');
  const second = parser.parse('limit=25');
  expect([first, second]).toEqual([
    { ok: true, value: { limit: 25 } },
    { ok: true, value: { limit: 25 } },
  ]);
  expect(parsed()).toBe(1);
  if (second.ok) expect(() => Object.assign(second.value, { limit: 1 })).toThrow(TypeError);
});

test('an invalid query is parsed each time, and its errors belong to that request alone', () => {
  const { parser } = countingParser();
  const [first, second] = [parser.parse('limt=25'), parser.parse('limt=25')];
  expect(first).toMatchObject({ ok: false, errors: [{ name: 'limt' }] });
  expect(second).toEqual(first);
  expect(second).not.toBe(first);
});

test('very many and very long queries are parsed correctly, and not all of them are remembered', () => {
  const { parser, parsed } = countingParser();
  for (let limit = 0; limit < 3_000; limit++) {
    expect(parser.parse(`limit=${limit}`)).toEqual({ ok: true, value: { limit } });
  }
  expect(parser.parse('limit=0')).toEqual({ ok: true, value: { limit: 0 } });
  expect(parsed()).toBe(3_001);
  const long = `limit=${'0'.repeat(300)}7`;
  for (let times = 0; times < 2; times++) expect(parser.parse(long)).toEqual({ ok: true, value: { limit: 7 } });
  expect(parsed()).toBe(3_003);
});
