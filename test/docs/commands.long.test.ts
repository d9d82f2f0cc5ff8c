import { afterAll, describe, expect, test } from 'bun:test';
import { copyCheckout } from '../support/checkout.ts';
import {
  type Block,
  blocksOf,
  COMMAND_PAGES,
  fileNameOf,
  readPage,
  reasonNotToRun,
} from '../support/document-blocks.ts';
import { tempFolder } from '../support/paybell.ts';
import { createPostgresDatabase } from '../support/postgres.ts';
import { createReader, type Reader } from '../support/reader.ts';
import { findToolChains, type ToolChains } from '../support/tool-chains.ts';
import { until } from '../support/until.ts';

/** Runs every command of every page, in the order of the page. */

type Outcome = { readonly reader: Reader; readonly printed: readonly string[] };

/** Expectations at the end of a page, in addition to the exit code of every command. */
const EXPECTATIONS: Readonly<Record<string, (outcome: Outcome) => Promise<void>>> = {
  'docs/quick-start.md': async ({ reader }) => {
    const shown = (words: RegExp) => reader.outputOf('listen').match(words)?.length ?? 0;
    await until('the listener has shown the sample and the scenario', () => shown(/TransferFinalized on Base/g) === 4);
    expect(shown(/AgreementSignedUp on Base/g)).toBe(1);
    await until('the listener has responded to all requests', () => shown(/→ \d+/g) === 11);
    expect({ verified: shown(/✓ signature verified/g), taken: shown(/→ 20\d/g) }).toEqual({ verified: 11, taken: 11 });
  },
  'docs/receiving.md': async ({ reader, printed }) => {
    expect(reader.isRunning('receiver.mjs')).toBe(true);
    expect(reader.isRunning('with-public-keys.mjs')).toBe(true);
    const receivers = ['receiver.mjs', 'receiver.py', './receiver', 'with-public-keys.mjs'];
    for (const receiver of receivers.filter((name) => reader.isRunning(name))) {
      await until(`${receiver} has verified it`, () =>
        /verified TransferFinalized dlv_/.test(reader.outputOf(receiver)),
      );
      expect(await statusOfForgedRequest(reader.outputOf(receiver))).toBe(401);
    }
    expect(printed.at(-1)).toBe('401\n');
  },
  'docs/never-miss-a-payment.md': async ({ reader }) => {
    expect(reader.isRunning('receiver.mjs')).toBe(true);
    const receivers = ['receiver.mjs', 'receiver.py', './receiver'];
    for (const receiver of receivers.filter((name) => reader.isRunning(name))) {
      const has = (words: RegExp) => words.test(reader.outputOf(receiver));
      await until(`${receiver} has repaired its gap`, () => has(/^repaired 2 TransferFinalized$/m));
      await until(`${receiver} has the others`, () => has(/^\w+ 1 Tr/m) && has(/^\w+ 3 Tr/m));
      expect(has(/^received 2 /m)).toBe(false);
      expect(await statusOfForgedRequest(reader.outputOf(receiver))).toBe(401);
    }
  },
  'docs/finality.md': async ({ reader }) => {
    const page = await readPage('docs/finality.md');
    const [, expected = ''] = /The receiver prints:\n\n```text\n([\s\S]*?)```/.exec(page) ?? [];
    expect(expected).toContain('EventRetracted');
    await until('the receiver has the whole story', () => reader.outputOf('shop.mjs').includes('paid: ship it'));
    expect(reader.outputOf('shop.mjs')).toEndWith(expected);
  },
  'docs/chain.md': async ({ reader, printed }) => {
    expect(printed.join('')).toContain('1 of 1 log in block 1000 of Practice network would be taken.');
    const payments = {
      language: 'sh',
      text: 'paybell payments $PAYEE',
      place: 'the search for payments again',
      prose: '',
    };
    await until('the first practice payment is there', async () =>
      (await reader.run(payments)).includes('practice USDC'),
    );
    const shown = (words: RegExp) => reader.outputOf('listen').match(words)?.length ?? 0;
    await until('the payment on Tron is delivered', () => shown(/TransferFinalized on Tron Nile/g) > 0);
    await until('the payment on Solana is delivered', () => shown(/TransferFinalized on Solana Devnet/g) > 0);
  },
  'docs/client.md': async ({ reader, printed }) => {
    expect(printed.join('')).toMatch(/8453 TransferFinalized http:.*\naccepted evt_[0-9a-f]{32} for 1 webhooks\n/);
    await until('the receiver has verified the event', () =>
      reader.outputOf('receiver.mjs').includes('verified: 25.00 USDC'),
    );
  },
  'docs/tours/integrator.md': async ({ reader }) => {
    const prints = (line: string) => until(line, () => reader.outputOf('shop.mjs').includes(`\n${line}\n`));
    for (const line of ['test TransferFinalized ', 'new TransferFinalized 1', 'new TransferFinalized 2'])
      await prints(line);
    expect(reader.outputOf('shop.mjs')).not.toContain('new TransferFinalized 3');
  },
  'docs/migrating.md': async ({ reader, printed }) => {
    expect(printed.join('')).toContain('\n2 lines: 2 webhooks imported, 0 already registered, 0 rejected.\n');
    await until('the receiver has verified the event', () =>
      reader.outputOf('classic-receiver').includes('verified TransferFinalized'),
    );
  },
};

/** The status with which a receiver responds to a request without a valid signature. */
async function statusOfForgedRequest(output: string): Promise<number> {
  const [url = ''] = /http:\S+/.exec(output) ?? [];
  const headers = {
    'webhook-id': 'dlv_1',
    'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
    'webhook-signature': `v1,${'A'.repeat(43)}=`,
  };
  return (await fetch(`${url}/hook`, { method: 'POST', headers, body: '{"event":"TransferFinalized"}' })).status;
}

/** The first compilation of a library takes a while. */
const PAGE_TIMEOUT_MS = 900_000;

const readers: Reader[] = [];
const folders: { remove: () => void }[] = [];

afterAll(async () => {
  await Promise.all(readers.map((reader) => reader.close()));
  for (const folder of folders) folder.remove();
});

/** Runs a page from top to bottom. */
async function follow(page: string): Promise<Outcome> {
  const reader = createReader(await settingsFor(page), {
    ...(page === CONTRIBUTORS && { folder: copyOfTheSource() }),
    installs: page === QUICK_START,
  });
  readers.push(reader);
  const toolChains = findToolChains();
  const printed: string[] = [];
  for (const block of await blocksOf(page)) {
    const name = fileNameOf(block);
    if (name !== null) reader.save(name, block.text);
    if (block.language === 'sh') printed.push(await runOrSkip(reader, block, toolChains));
  }
  return { reader, printed };
}

/** Its commands change the source and run tests. */
const CONTRIBUTORS = 'docs/tours/contributor.md';
/** Installs the command `paybell`, which the other pages expect. */
const QUICK_START = 'docs/quick-start.md';

function copyOfTheSource(): string {
  const folder = copyCheckout();
  folders.push(folder);
  return folder.path;
}

async function settingsFor(page: string): Promise<Record<string, string>> {
  const text = await readPage(page);
  return {
    // Events that arrive before their receiver is up are retried soon.
    RETRY_SCHEDULE: '0s,200ms,200ms,1s,1s,1s,1s,1s',
    ...(page === CONTRIBUTORS ? { TEST_DATABASE_URL: await createPostgresDatabase({ isEmpty: true }) } : {}),
    ...(text.includes('$REPOSITORY') ? { REPOSITORY: await emptyRepository() } : {}),
    ...(text.includes('$POSTGRES_URL') ? { POSTGRES_URL: await createPostgresDatabase() } : {}),
  };
}

/** A repository to clone. It can be empty, because the replacement of npm uses this checkout. */
async function emptyRepository(): Promise<string> {
  const folder = tempFolder();
  folders.push(folder);
  await Bun.spawn(['git', 'init', '--quiet', '--bare', folder.path]).exited;
  return folder.path;
}

async function runOrSkip(reader: Reader, block: Block, toolChains: ToolChains): Promise<string> {
  const reason = reasonNotToRun(block) ?? toolChains.reasonNotToRun(block.text);
  if (reason !== null) return skip(block, reason);
  try {
    return await reader.run(block);
  } catch (error) {
    if (toolChains.isDownloadFailure(block.text)) return skip(block, String(error));
    throw error;
  }
}

function skip({ place }: Block, reason: string): string {
  process.stderr.write(`  not run: ${place}, ${reason}\n`);
  return '';
}

describe('every command works on', () => {
  for (const page of COMMAND_PAGES) {
    test.concurrent(
      page,
      async () => {
        // Throws if a command fails.
        const outcome = await follow(page);
        await EXPECTATIONS[page]?.(outcome);
      },
      PAGE_TIMEOUT_MS,
    );
  }
});
