import { afterEach, describe, expect, test } from 'bun:test';
import { type Block, fileNameOf, reasonNotToRun } from '../support/document-blocks.ts';
import { createReader, type Reader } from '../support/reader.ts';
import { rejection } from '../support/rejection.ts';
import { findToolChains } from '../support/tool-chains.ts';

/** Tests the code that runs the pages: a runner that cannot fail would prove nothing. */

const block = (text: string, prose = '', language = 'sh'): Block => ({ text, prose, language, place: 'page.md:1' });

describe('a reader', () => {
  let reader: Reader;

  afterEach(() => reader.close());

  test('reports the place and the output of a command that fails, even in the middle of a block', async () => {
    reader = createReader();
    const run = reader.run(block('echo before\nls nowhere-at-all\necho after\n'));
    expect((await rejection(run)).message).toMatch(/page\.md:1 ended with [1-9][\s\S]*nowhere-at-all/);
  });

  test('fails on a variable that is not set, and on an unexpected npm script', async () => {
    reader = createReader();
    expect((await rejection(reader.run(block('echo "$NOWHERE_SET"\n')))).message).toContain('NOWHERE_SET');
    expect((await rejection(reader.run(block('npm run something-else\n')))).message).toContain(
      'unexpected: npm run something-else',
    );
  });

  test('keeps exported variables and the folder for the next block', async () => {
    reader = createReader();
    await reader.run(block("export NAME='two words'\nmkdir inside\ncd inside\n"));
    expect(await reader.run(block('echo "$NAME"; basename "$PWD"\n'))).toBe('two words\ninside\n');
  });

  test('keeps the service running, pastes the lines that it prints, and stops it if the text says so', async () => {
    reader = createReader();
    await reader.run(block('npm start\n'));
    const list = block('curl -s --fail-with-body http://127.0.0.1:8080/readyz\necho "$PAYBELL_ENTITY_ID"\n');
    expect(await reader.run(list)).toMatch(/ent_\w+\n$/);
    expect(reader.isRunning('npm start')).toBe(true);
    expect((await rejection(reader.run({ ...list, prose: 'Now stop the service.' }))).message).toContain(
      'ended with 7',
    );
  });

  test('takes the line from a saved output only if the page does so', async () => {
    reader = createReader();
    await reader.run(block('npm start | tee -a paybell.log\n'));
    const show = block('echo "$PAYBELL_ENTITY_ID"\n');
    expect((await rejection(reader.run(show))).message).toContain('PAYBELL_ENTITY_ID');
    await reader.run(block(`eval "$(grep -o 'export PAYBELL.*' paybell.log | tail -n 1)"\n`));
    expect(await reader.run(show)).toMatch(/^ent_\w+\n$/);
  });

  test('keeps functions for the next block, until the text opens another terminal', async () => {
    reader = createReader({}, { separatesTerminals: true });
    await reader.run(block('greet() { echo "hello, $1"; }\nexport NAME=reader\n'));
    const greet = block('greet "$NAME"\n');
    expect(await reader.run(greet)).toBe('hello, reader\n');
    const elsewhere = { ...greet, prose: 'In a second terminal:' };
    expect((await rejection(reader.run(elsewhere))).message).toContain('NAME');
  });

  test('has no command `paybell` before the page installs it', async () => {
    reader = createReader({}, { installs: true });
    const version = block('paybell --version\n');
    expect((await rejection(reader.run(version))).message).toContain('ended with 127');
    await reader.run(block('touch paybell-1.tgz\nnpm install --global paybell-1.tgz\n'));
    expect(await reader.run(version)).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test('fails if a background command ends', async () => {
    reader = createReader();
    reader.save('broken.mjs', 'process.exit(3);\n');
    expect((await rejection(reader.run(block('node broken.mjs\n')))).message).toContain('ended with 3');
  });
});

describe('a block', () => {
  test('is skipped only for a reason in the line above it', () => {
    expect(reasonNotToRun(block('true', 'Text.\n*Not run in our tests: it\nchanges the system.*\n\n'))).toBe(
      'it changes the system.',
    );
    expect(reasonNotToRun(block('true', '*Not run in our tests: it changes the system.*\n\nMore text.\n'))).toBeNull();
    expect(reasonNotToRun(block('true', '*Not run in our tests: *\n'))).toBeNull();
  });

  test('is saved under the file name in its first line', () => {
    expect(fileNameOf(block('// receiver.mjs\nlet a;\n', '', 'js'))).toBe('receiver.mjs');
    expect(fileNameOf(block('# receiver.py\n', '', 'python'))).toBe('receiver.py');
    expect(fileNameOf(block('// a sentence. And more\n', '', 'js'))).toBeNull();
    expect(fileNameOf(block('# receiver.py\n', '', 'sh'))).toBeNull();
  });
});

test('a tool chain whose library cannot be downloaded is skipped from then on', () => {
  const chains = findToolChains();
  expect(chains.isDownloadFailure('ls\n')).toBe(false);
  expect(chains.isDownloadFailure('go mod init receiver\ngo get example.com/library\n')).toBe(true);
  expect(chains.reasonNotToRun('./receiver\n')).toBe('a library for go cannot be downloaded');
  expect(chains.reasonNotToRun('npm start\n')).toBeNull();
});
