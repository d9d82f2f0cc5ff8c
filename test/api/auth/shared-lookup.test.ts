import { expect, test } from 'bun:test';
import { SharedLookup } from '../../../src/api/auth/shared-lookup.ts';
import { rejection } from '../../support/rejection.ts';

function recorded(values: Record<string, number>) {
  const questions: (readonly string[])[] = [];
  const lookup = new SharedLookup<number>(async (keys) => {
    questions.push(keys);
    return new Map(keys.flatMap((key) => (key in values ? [[key, values[key] ?? 0]] : [])));
  });
  return { questions, lookup, values };
}

test('all who ask in one turn are asked for in one question, each key once, and what is not there is null', async () => {
  const { questions, lookup } = recorded({ one: 1, two: 2 });
  const answers = await Promise.all(['one', 'two', 'one', 'none'].map((key) => lookup.get(key)));
  expect(answers).toEqual([1, 2, 1, null]);
  expect(questions).toEqual([['one', 'two', 'none']]);
});

test('whoever asks after the question was sent is answered by another', async () => {
  const { questions, lookup, values } = recorded({ one: 1 });
  const first = lookup.get('one');
  await new Promise((resolve) => setImmediate(resolve));
  values.one = 2;
  const second = lookup.get('one');
  expect([await first, await second]).toEqual([1, 2]);
  expect(questions).toHaveLength(2);
});

test('a question that fails fails for all who asked it, and for nobody else', async () => {
  let down = true;
  const lookup = new SharedLookup<number>(async (keys) => {
    if (down) throw new Error('down');
    return new Map(keys.map((key) => [key, 1]));
  });
  const failures = await Promise.all(['one', 'two'].map((key) => rejection(lookup.get(key))));
  expect(failures.map(({ message }) => message)).toEqual(['down', 'down']);
  down = false;
  expect(await lookup.get('one')).toBe(1);
});
