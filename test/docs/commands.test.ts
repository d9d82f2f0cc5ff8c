import { afterAll, describe, expect, test } from 'bun:test';
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
import { type Reader, sitDown } from '../support/reader.ts';
import { lookForToolChains, type ToolChains } from '../support/tool-chains.ts';
import { until } from '../support/until.ts';

/** Documents run: every command of every page is typed here, in the order in which it stands there. */

type Outcome = { readonly reader: Reader; readonly printed: readonly string[] };

/** What has to be seen at the end of a page, beyond that every command ended well. */
const SEEN: Readonly<Record<string, (outcome: Outcome) => Promise<void>>> = {
  'README.md': async ({ reader, printed }) => {
    const answers = printed.filter((text) => /^\{"(totalResults|eventId)"/.test(text)).map((text) => JSON.parse(text));
    expect(answers).toMatchObject([
      { totalResults: 2, webhooks: [{ networkId: 1 }, { networkId: 8453 }] },
      { totalResults: 1, webhooks: [{ networkId: 8453 }] },
      { eventId: 'transfer-1', deliveries: 1 },
      { totalResults: 1, deliveries: [{ eventId: 'transfer-1', networkId: 8453 }] },
    ]);
    await until('its receiver has it', () => reader.outputOf('receiver.mjs').includes('transfer-1'));
  },
  'docs/quick-start.md': async ({ reader }) => {
    const shown = (words: RegExp) => reader.outputOf('listen').match(words)?.length ?? 0;
    await until('the listener has shown the sample and the story', () => shown(/TransferFinalized on Base/g) === 4);
    expect(shown(/AgreementSignedUp on Base/g)).toBe(1);
    await until('it has answered all of them', () => shown(/→ \d+/g) === 11);
    expect({ verified: shown(/✓ signature verified/g), taken: shown(/→ 20\d/g) }).toEqual({ verified: 11, taken: 11 });
  },
  'docs/receiving.md': async ({ reader, printed }) => {
    expect(reader.isRunning('receiver.mjs')).toBe(true);
    for (const receiver of ['receiver.mjs', 'receiver.py', './receiver'].filter((name) => reader.isRunning(name))) {
      await until(`${receiver} has verified it`, () =>
        /verified TransferFinalized dlv_/.test(reader.outputOf(receiver)),
      );
      expect(await statusOfForgedPost(reader.outputOf(receiver))).toBe(401);
    }
    expect(printed.at(-1)).toBe('401\n');
  },
  'docs/client.md': async ({ reader, printed }) => {
    expect(printed.join('')).toMatch(/8453 TransferFinalized http:.*\naccepted evt_[0-9a-f]{32}, on its way to 1\n/);
    await until('it has been verified', () => reader.outputOf('receiver.mjs').includes('verified: 25.00 USDC'));
  },
  'docs/migrating.md': async ({ reader, printed }) => {
    expect(printed.join('')).toContain('\n2 lines: 2 webhooks imported, 0 registered already, 0 refused.\n');
    await until('it has been verified', () =>
      reader.outputOf('classic-receiver').includes('verified TransferFinalized'),
    );
  },
};

/** What a receiver that printed where it listens answers to a post that nobody signed. */
async function statusOfForgedPost(output: string): Promise<number> {
  const [url = ''] = /http:\S+/.exec(output) ?? [];
  const headers = {
    'webhook-id': 'dlv_1',
    'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
    'webhook-signature': `v1,${'A'.repeat(43)}=`,
  };
  return (await fetch(`${url}/hook`, { method: 'POST', headers, body: '{"event":"TransferFinalized"}' })).status;
}

/** A tool chain that compiles its own library for the first time takes a while. */
const PATIENCE_MS = 300_000;

const readers: Reader[] = [];
const folders: { remove: () => void }[] = [];

afterAll(async () => {
  await Promise.all(readers.map((reader) => reader.leave()));
  for (const folder of folders) folder.remove();
});

/** The page from top to bottom. */
async function follow(page: string): Promise<Outcome> {
  const reader = sitDown(await settingsFor(page));
  readers.push(reader);
  const toolChains = lookForToolChains();
  const printed: string[] = [];
  for (const block of await blocksOf(page)) {
    const name = fileNameOf(block);
    if (name !== null) reader.save(name, block.text);
    if (block.language === 'sh') printed.push(await typeOrSay(reader, block, toolChains));
  }
  return { reader, printed };
}

async function settingsFor(page: string): Promise<Record<string, string>> {
  const text = await readPage(page);
  return {
    // Whatever comes before its receiver does is tried again soon.
    RETRY_SCHEDULE: '0s,200ms,200ms,1s,1s,1s,1s,1s',
    ...(text.includes('$REPOSITORY') ? { REPOSITORY: await emptyRepository() } : {}),
    ...(text.includes('$POSTGRES_URL') ? { POSTGRES_URL: await createPostgresDatabase() } : {}),
  };
}

/** To be cloned: what is in it does not matter, since npm stands for this checkout. */
async function emptyRepository(): Promise<string> {
  const folder = tempFolder();
  folders.push(folder);
  await Bun.spawn(['git', 'init', '--quiet', '--bare', folder.path]).exited;
  return folder.path;
}

async function typeOrSay(reader: Reader, block: Block, toolChains: ToolChains): Promise<string> {
  const reason = reasonNotToRun(block) ?? toolChains.reasonNotToRun(block.text);
  if (reason !== null) return say(block, reason);
  try {
    return await reader.type(block);
  } catch (error) {
    if (toolChains.isOutOfReach(block.text)) return say(block, String(error));
    throw error;
  }
}

function say({ place }: Block, reason: string): string {
  process.stderr.write(`  not run: ${place}, ${reason}\n`);
  return '';
}

describe('every command works as it stands on', () => {
  for (const page of COMMAND_PAGES) {
    test.concurrent(
      page,
      async () => {
        const outcome = await follow(page);
        await SEEN[page]?.(outcome);
      },
      PATIENCE_MS,
    );
  }
});
