import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { runPaybell, type Served, servePaybell, tempFolder } from '../support/paybell.ts';
import { freePort } from '../support/postgres.ts';

/** Documents run: what a page tells people to type is typed here. */

const ROOT = resolve(import.meta.dir, '../..');
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(resolve(ROOT, 'docs')).map((name) => `docs/${name}`),
].filter((name) => name.endsWith('.md'));

const read = (page: string) => Bun.file(resolve(ROOT, page)).text();

async function shellBlocks(page: string): Promise<string[]> {
  return [...(await read(page)).matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
}

describe('every page', () => {
  test('names only npm scripts that there are', async () => {
    for (const page of PAGES) {
      const named = [...(await read(page)).matchAll(/npm (?:run (?:-s )?([\w:-]+)|(start|test))/g)].map(
        (match) => match[1] ?? match[2],
      );
      for (const name of named) expect(packageJson.scripts, `${page}: npm run ${name}`).toHaveProperty([name ?? '']);
    }
  });

  test('names only commands of paybell that there are, with options that they take', async () => {
    const folder = tempFolder();
    const known = new Map<string, string>();
    for (const page of PAGES) {
      for (const [, words = ''] of (await read(page)).matchAll(
        /(?:paybell --|`paybell) ((?:[a-z]+ ?)+(?:(?:--[a-z-]+|<\w+>)(?:[ =]<?[\w.]+>?)? ?)*)/g,
      )) {
        const command = words.split(' --')[0]?.replace(/<.*/, '').trim().split(' ') ?? [];
        const key = command.join(' ');
        if (!known.has(key)) known.set(key, (await runPaybell([...command, '--help'], folder.path)).stdout);
        const help = known.get(key) ?? '';
        expect(help, `${page}: paybell ${key}`).toContain(`Usage: paybell ${command[0]}`);
        for (const [option] of words.matchAll(/--[a-z-]+/g))
          expect(help, `${page}: paybell ${words}`).toContain(option);
      }
    }
    folder.remove();
    expect(known.size).toBeGreaterThan(3);
  });

  test('links only to files that there are', async () => {
    for (const page of PAGES) {
      for (const [, target = ''] of (await read(page)).matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
        const file = resolve(ROOT, page, '..', target);
        expect(await Bun.file(file).exists(), `${page} → ${target}`).toBe(true);
      }
    }
  });
});

describe('the README’s curl commands', () => {
  const folder = tempFolder();
  let served: Served;
  const credentials: Record<string, string> = {};

  beforeAll(async () => {
    served = await servePaybell(folder.path, {
      ALLOW_INSECURE_TARGETS: 'true',
      RETRY_SCHEDULE: '0s,200ms,200ms,200ms,1s,1s,1s,1s',
    });
    credentials.ENTITY_ID = /entity-id {2}(\S+)/.exec(served.stdout())?.[1] ?? '';
    credentials.API_KEY = /api-key {4}(\S+)/.exec(served.stdout())?.[1] ?? '';
  });

  afterAll(async () => {
    await served.stop();
    folder.remove();
  });

  test('work as they stand, one after the other', async () => {
    const commands = (await shellBlocks('README.md')).filter((block) => block.startsWith('curl '));
    expect(commands.length).toBe(4);
    const answers: unknown[] = [];
    for (const command of commands) {
      const here = command.replaceAll('http://127.0.0.1:8080', served.url);
      const shell = Bun.spawn(['sh', '-c', here], {
        env: { PATH: process.env.PATH ?? '', ...credentials },
        stderr: 'inherit',
      });
      answers.push(await new Response(shell.stdout).json());
    }
    expect(answers).toEqual([
      { totalResults: 0, webhooks: [] },
      {
        totalResults: 2,
        webhooks: [expect.objectContaining({ networkId: 1 }), expect.objectContaining({ networkId: 8453 })],
      },
      { eventId: 'transfer-1', deliveries: 1 },
      { totalResults: 1, deliveries: [expect.objectContaining({ eventId: 'transfer-1', networkId: 8453 })] },
    ]);
  });

  test('reach the README’s receiver, which verifies them', async () => {
    const [, program = ''] = /^```js\n([\s\S]*?)^```$/m.exec(await read('README.md')) ?? [];
    const headers = { 'api-key': credentials.API_KEY ?? '', 'entity-id': credentials.ENTITY_ID ?? '' };
    const api = `${served.url}/api/v1/crypto`;
    const secrets = (await (await fetch(`${api}/webhooks/secret`, { headers })).json()) as {
      secrets: [{ secret: string }];
    };
    const port = freePort();
    // Beside the packages, so that it finds its own.
    const file = resolve(ROOT, `node_modules/.readme-receiver-${process.pid}.mjs`);
    await Bun.write(file, program.replace('3000', String(port)));
    const env = { PATH: process.env.PATH ?? '', SECRET: secrets.secrets[0].secret };
    const receiver = Bun.spawn(['node', file], { env, stdout: 'pipe', stderr: 'inherit' });
    try {
      const json = { ...headers, 'content-type': 'application/json' };
      const send = (path: string, body: unknown) =>
        fetch(`${api}${path}`, { method: 'POST', headers: json, body: JSON.stringify(body) });
      await send('/webhooks/classic', {
        postUrl: `http://127.0.0.1:${port}/`,
        networkIds: [10],
        events: ['LatePayment'],
      });
      await send('/events', { event: 'LatePayment', networkId: 10, eventId: 'for-the-receiver' });
      const { value } = await receiver.stdout.getReader().read();
      expect(new TextDecoder().decode(value)).toContain('for-the-receiver');
    } finally {
      receiver.kill();
      await Bun.file(file).delete();
    }
  });
});
