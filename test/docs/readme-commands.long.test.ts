import { describe, expect, test } from 'bun:test';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { copyCheckout } from '../support/checkout.ts';
import { cleanUpAfterEach } from '../support/clean-up.ts';
import { blocksOf, ROOT } from '../support/document-blocks.ts';
import { tempFolder } from '../support/paybell.ts';
import { createReader, type Reader } from '../support/reader.ts';
import { until } from '../support/until.ts';

/** Runs every command of the README as it is written, in a copy of the checkout where nothing else is installed. */

const TIMEOUT_MS = 900_000;
/** Events that arrive before their receiver is up are retried soon. */
const SETTINGS = { RETRY_SCHEDULE: '0s,200ms,200ms,1s,1s,1s,1s,1s' };

const cleanUp = cleanUpAfterEach();

function newReader(): Reader {
  const folder = copyCheckout();
  const reader = createReader(SETTINGS, { folder: folder.path, installs: true, separatesTerminals: true });
  cleanUp.push(folder.remove, () => reader.close());
  return reader;
}

describe('in a new checkout', () => {
  test(
    'each command of the first screen works',
    async () => {
      const blocks = await blocksOf('README.md', null);
      expect(blocks.map(({ text }) => text.replace(/ *#.*\n/, ''))).toEqual([
        'npm ci && npm start',
        'npm ci && npm test',
        'npm run demo -- chain',
      ]);
      const reader = newReader();
      const printed = [];
      for (const block of blocks) printed.push(await reader.run(block));
      expect(printed[0]).toContain('npm run -s paybell -- webhooks list');
      expect(printed[2]).toMatch(/wrong +0\n/);
    },
    TIMEOUT_MS,
  );

  test(
    'the first event arrives with a valid signature, and the reorg retracts and repeats a payment',
    async () => {
      const reader = newReader();
      const printed = [];
      for (const block of await blocksOf('README.md', 'Send your first event')) printed.push(await reader.run(block));
      const shown = (words: RegExp) => reader.outputOf('listen').match(words)?.length ?? 0;
      await until('the receiver has responded to all requests', () => shown(/→ \d+/g) === 7);
      expect({ verified: shown(/✓ signature verified/g), accepted: shown(/→ 20\d/g) }).toEqual({
        verified: 7,
        accepted: 7,
      });
      expect({ retracted: shown(/EventRetracted on Base/g), final: shown(/TransferFinalized on Base/g) }).toEqual({
        retracted: 1,
        final: 2,
      });
      expect(JSON.parse(printed.at(-1) ?? '')).toMatchObject({ totalResults: 7 });
    },
    TIMEOUT_MS,
  );
});

test('git ignores every file that these commands create', async () => {
  const folder = tempFolder();
  cleanUp.push(folder.remove);
  cpSync(join(ROOT, '.gitignore'), join(folder.path, '.gitignore'));
  const git = (...args: string[]) => Bun.spawn(['git', ...args], { cwd: folder.path, stdout: 'pipe' });
  await git('init', '--quiet').exited;
  const files = ['paybell.log', 'data/paybell.db.first-key', 'data/paybell.first-key', 'other.db.first-key-2'];
  expect((await git('check-ignore', ...files).stdout.text()).trim().split('\n')).toEqual(files);
});
