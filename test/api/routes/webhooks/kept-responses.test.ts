import { expect, test } from 'bun:test';
import { KeptResponses } from '../../../../src/api/routes/webhooks/kept-responses.ts';

const BYTES = 400;
/** With what a response takes besides its body. */
const ENTRY_BYTES = 1_000;

const response = (revision = 1) => ({ revision, etag: `"${revision}"`, body: new Uint8Array(BYTES) });

function keeping(entries: number, entriesOfEntity: number) {
  return new KeptResponses({ maxBytes: entries * ENTRY_BYTES, maxEntityBytes: entriesOfEntity * ENTRY_BYTES });
}

test('an entity with ever new queries drops its own responses alone', () => {
  const kept = keeping(20, 5);
  for (let n = 0; n < 5; n++) kept.set(`quiet ${n}`, 'quiet', response());
  for (let n = 0; n < 1_000; n++) kept.set(`loud ${n}`, 'loud', response());
  for (let n = 0; n < 5; n++) expect(kept.get(`quiet ${n}`)).toBeDefined();
  const loud = Array.from({ length: 1_000 }, (_, n) => n).filter((n) => kept.get(`loud ${n}`) !== undefined);
  expect(loud).toEqual([995, 996, 997, 998, 999]);
});

test('all entities together have a limit, and an entity that lost its responses begins again', () => {
  const kept = keeping(10, 5);
  for (let entity = 0; entity < 4; entity++) {
    for (let n = 0; n < 5; n++) kept.set(`${entity} ${n}`, String(entity), response());
  }
  expect(kept.get('1 4')).toBeUndefined();
  expect(kept.get('2 0')).toBeDefined();
  for (let n = 0; n < 5; n++) kept.set(`0 ${n}`, '0', response(2));
  for (let n = 0; n < 5; n++) expect(kept.get(`0 ${n}`)?.revision).toBe(2);
});

test('a response that replaces another one is counted once, and one above the limit of its entity is not kept', () => {
  const kept = keeping(10, 2);
  for (let n = 0; n < 50; n++) kept.set('one', 'entity', response(n));
  kept.set('two', 'entity', response());
  expect(kept.get('one')?.revision).toBe(49);
  expect(kept.get('two')).toBeDefined();
  kept.set('large', 'entity', { ...response(), body: new Uint8Array(3 * ENTRY_BYTES) });
  expect(kept.get('large')).toBeUndefined();
});
