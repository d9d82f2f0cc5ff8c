import { expect, test } from 'bun:test';
import { privateWords, privateWordsIn } from './words.ts';

test('the source and the documents use the words of the field', async () => {
  const { files, found } = await privateWords();
  expect(files).toBeGreaterThan(300);
  expect(found).toEqual([]);
});

test.each([
  ['docs/delivery.md', 'Whoever reads this', 'Whoever'],
  ['docs/delivery.md', 'a hand-over of claims', 'hand-over'],
  ['README.md', 'deliveries that wait in line', 'wait in line'],
  ['src/delivery/engine.ts', 'const bellRings = 1;', 'bell'],
  ['src/delivery/engine.ts', 'queue.standInLine();', 'InLine'],
  ['src/delivery/engine.ts', 'const MAX_UNWELL = 3;', 'UNWELL'],
])('the check finds the word in %s: %s', (file, text, word) => {
  expect(privateWordsIn(file, `first line\n${text}`)).toEqual([`${file}:2: ${word}`]);
});

test.each([
  ['docs/delivery.md', 'Paybell recommends a queue; amended rules; welfare; an inline image'],
  ['src/delivery/engine.ts', 'const recommended = inline(paybell, PAYBELL_API_KEY);'],
])('the check accepts words that only contain one, in %s: %s', (file, text) => {
  expect(privateWordsIn(file, text)).toEqual([]);
});
