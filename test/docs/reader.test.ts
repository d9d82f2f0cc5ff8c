import { afterEach, describe, expect, test } from 'bun:test';
import { type Block, fileNameOf, reasonNotToRun } from '../support/document-blocks.ts';
import { type Reader, sitDown } from '../support/reader.ts';
import { rejection } from '../support/rejection.ts';
import { lookForToolChains } from '../support/tool-chains.ts';

/** The mechanism that runs the pages, on blocks of our own: one that could not fail would prove nothing. */

const block = (text: string, prose = '', language = 'sh'): Block => ({ text, prose, language, place: 'page.md:1' });

describe('a reader', () => {
  let reader: Reader;

  afterEach(() => reader.leave());

  test('fails with the place and the words of a command that fails, even in the middle of a block', async () => {
    reader = sitDown();
    const typed = reader.type(block('echo before\nls nowhere-at-all\necho after\n'));
    expect((await rejection(typed)).message).toMatch(/page\.md:1 ended with [1-9][\s\S]*nowhere-at-all/);
  });

  test('fails on a name that is not set, and on an npm script that the pages have no business with', async () => {
    reader = sitDown();
    expect((await rejection(reader.type(block('echo "$NOWHERE_SET"\n')))).message).toContain('NOWHERE_SET');
    expect((await rejection(reader.type(block('npm run something-else\n')))).message).toContain(
      'unexpected: npm run something-else',
    );
  });

  test('takes what was exported and the folder along to the next block', async () => {
    reader = sitDown();
    await reader.type(block("export NAME='two words'\nmkdir inside\ncd inside\n"));
    expect(await reader.type(block('echo "$NAME"; basename "$PWD"\n'))).toBe('two words\ninside\n');
  });

  test('leaves the service running, pastes what it prints, and stops it where the text says so', async () => {
    reader = sitDown();
    await reader.type(block('npm start\n'));
    const list = block('curl -s --fail-with-body http://127.0.0.1:8080/readyz\necho "$PAYBELL_ENTITY_ID"\n');
    expect(await reader.type(list)).toMatch(/ent_\w+\n$/);
    expect(reader.isRunning('npm start')).toBe(true);
    expect((await rejection(reader.type({ ...list, prose: 'Now stop the service.' }))).message).toContain(
      'ended with 7',
    );
  });

  test('fails where that which should stay ends', async () => {
    reader = sitDown();
    reader.save('broken.mjs', 'process.exit(3);\n');
    expect((await rejection(reader.type(block('node broken.mjs\n')))).message).toContain('ended with 3');
  });
});

describe('a block', () => {
  test('is left out only for a reason that is in the line above it', () => {
    expect(reasonNotToRun(block('true', 'Text.\n*Not run in our tests: it\nchanges the system.*\n\n'))).toBe(
      'it changes the system.',
    );
    expect(reasonNotToRun(block('true', '*Not run in our tests: it changes the system.*\n\nMore text.\n'))).toBeNull();
    expect(reasonNotToRun(block('true', '*Not run in our tests: *\n'))).toBeNull();
  });

  test('is saved under the name in its first line', () => {
    expect(fileNameOf(block('// receiver.mjs\nlet a;\n', '', 'js'))).toBe('receiver.mjs');
    expect(fileNameOf(block('# receiver.py\n', '', 'python'))).toBe('receiver.py');
    expect(fileNameOf(block('// a sentence. And more\n', '', 'js'))).toBeNull();
    expect(fileNameOf(block('# receiver.py\n', '', 'sh'))).toBeNull();
  });
});

test('a tool chain whose library is out of reach is left out from then on', () => {
  const chains = lookForToolChains();
  expect(chains.isOutOfReach('ls\n')).toBe(false);
  expect(chains.isOutOfReach('go mod init receiver\ngo get example.com/library\n')).toBe(true);
  expect(chains.reasonNotToRun('./receiver\n')).toBe('a library for go is out of reach here');
  expect(chains.reasonNotToRun('npm start\n')).toBeNull();
});
