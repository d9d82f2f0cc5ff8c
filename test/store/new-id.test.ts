import { expect, spyOn, test } from 'bun:test';
import { newId } from '../../src/store/new-id.ts';

const MANY = 20_000;
const UUID_V7 = /^aud_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/;

test('ids sort in the order of their creation, all different and of the documented form', () => {
  const ids = Array.from({ length: MANY }, () => newId('aud'));
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(MANY);
  for (const id of ids) expect(id).toMatch(UUID_V7);
});

test('an id created after the clock was set back sorts after those before', () => {
  const before = newId('aud');
  const clock = spyOn(Date, 'now').mockReturnValue(Date.now() - 60_000);
  try {
    expect(newId('aud') > before).toBe(true);
  } finally {
    clock.mockRestore();
  }
});
