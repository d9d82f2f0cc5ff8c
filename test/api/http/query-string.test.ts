import { expect, test } from 'bun:test';
import { z } from 'zod';
import { QueryReader } from '../../../src/api/http/query-string.ts';

const URL_OF = (search: string) => `http://localhost/api/v1/crypto/webhooks/classic?${search}`;

function countingReader() {
  let parsed = 0;
  const limit = z.string().transform((text) => {
    parsed += 1;
    return Number(text);
  });
  const reader = new QueryReader(z.strictObject({ limit: limit.optional() }));
  return { reader, parsed: () => parsed };
}

test('a query that came before is not read again, and nobody can change what it means', () => {
  const { reader, parsed } = countingReader();
  const first = reader.read(URL_OF('limit=25'));
  const second = reader.read(URL_OF('limit=25'));
  expect([first, second]).toEqual([
    { ok: true, value: { limit: 25 } },
    { ok: true, value: { limit: 25 } },
  ]);
  expect(parsed()).toBe(1);
  if (second.ok) expect(() => Object.assign(second.value, { limit: 1 })).toThrow(TypeError);
});

test('a query with a fault is read each time, and its faults belong to the request alone', () => {
  const { reader } = countingReader();
  const [first, second] = [reader.read(URL_OF('limt=25')), reader.read(URL_OF('limt=25'))];
  expect(first).toMatchObject({ ok: false, faults: [{ name: 'limt' }] });
  expect(second).toEqual(first);
  expect(second).not.toBe(first);
});

test('very many and very long queries are read rightly, and not all of them are kept', () => {
  const { reader, parsed } = countingReader();
  for (let limit = 0; limit < 3_000; limit++) {
    expect(reader.read(URL_OF(`limit=${limit}`))).toEqual({ ok: true, value: { limit } });
  }
  expect(reader.read(URL_OF('limit=0'))).toEqual({ ok: true, value: { limit: 0 } });
  expect(parsed()).toBe(3_001);
  const long = `limit=${'0'.repeat(300)}7`;
  for (let times = 0; times < 2; times++) expect(reader.read(URL_OF(long))).toEqual({ ok: true, value: { limit: 7 } });
  expect(parsed()).toBe(3_003);
});
