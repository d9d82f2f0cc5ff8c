import { expect, test } from 'bun:test';
import { blocksOf, COMMAND_PAGES } from '../support/document-blocks.ts';

test('no page uses PAYBELL_URL in a shell before it exports it, because the first start does not print it', async () => {
  const wrong: string[] = [];
  for (const page of ['README.md', ...COMMAND_PAGES]) {
    const shell = (await blocksOf(page)).filter(({ language }) => language === 'sh');
    const commands = shell.map(({ text }) => text).join('\n');
    const [before = ''] = commands.split('export PAYBELL_URL=');
    if (/\$\{?PAYBELL_URL/.test(before)) wrong.push(page);
  }
  expect(wrong).toEqual([]);
});
