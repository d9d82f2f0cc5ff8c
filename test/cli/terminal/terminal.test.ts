import { describe, expect, spyOn, test } from 'bun:test';
import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { run } from '../../../src/cli/program.ts';
import { version } from '../../../src/version.ts';
import { cleanUpAfterEach } from '../../support/clean-up.ts';
import { commandLine, startCommand, Written } from '../../support/command-line.ts';
import { tempFolder } from '../../support/paybell.ts';
import { startTestService } from '../../support/service.ts';
import { createTarget } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

const cleanUp = cleanUpAfterEach();

/** Files that represent the process: its streams, its start, and pipes without a reader. */
const OF_THE_PROCESS = ['terminal/terminal.ts', 'terminal/invocation.ts', 'terminal/closed-pipe.ts'];

test('no other file of the command line uses the streams or the environment of the process', async () => {
  const folder = resolve(import.meta.dir, '../../../src/cli');
  const found: string[] = [];
  for await (const file of new Bun.Glob('**/*.ts').scan(folder)) {
    if (OF_THE_PROCESS.includes(file)) continue;
    const text = await Bun.file(join(folder, file)).text();
    for (const [use] of text.matchAll(
      /\bprocess\.(?:std\w+|env|exitCode)\b|\bBun\.(?:stdin|stdout|stderr|env)\b|\bconsole\./g,
    )) {
      found.push(`${file}: ${use}`);
    }
  }
  expect(found).toEqual([]);
});

describe('a command on a given terminal', () => {
  test('keeps its output and its settings apart from those of commands that run at the same time', async () => {
    const profiles = Array.from({ length: 20 }, (_, index) => `profile-${index}`);
    const outcomes = await Promise.all(
      profiles.map((PAYBELL_PROFILE) => commandLine({ PAYBELL_PROFILE })(['webhooks', 'list'])),
    );
    for (const [index, { exitCode, stdout, stderr }] of outcomes.entries()) {
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr.match(/profile-\d+/g)).toEqual([`profile-${index}`, `profile-${index}`]);
    }
  });

  test('uses neither the streams nor the environment of the process', async () => {
    const spies = [spyOn(process.stdout, 'write'), spyOn(process.stderr, 'write')];
    cleanUp.push(() => spies.map((spy) => spy.mockRestore()));
    process.env.PAYBELL_API_KEY = 'of the process';
    cleanUp.push(() => delete process.env.PAYBELL_API_KEY);
    expect(await commandLine({})(['--version'])).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: '' });
    expect((await commandLine({})(['webhooks', 'list'])).stderr).toContain('no API key is set');
    expect((await commandLine({})(['webhooks', 'list', '--nope'])).stderr).toContain("unknown option '--nope'");
    for (const spy of spies) expect(spy).not.toHaveBeenCalled();
  });

  test('that does not end by itself ends when it is stopped, and leaves the process no listeners', async () => {
    const before = process.listenerCount('SIGINT');
    const listening = startCommand(['listen', '--port', '0']);
    await until('it listens', () => listening.stdout().includes('Signatures are not checked'));
    expect(await listening.stop()).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('0 requests') });
    expect(process.listenerCount('SIGINT')).toBe(before);
  });

  test('prompts at its keyboard for missing values, and does not show the key', async () => {
    const { url, remove } = await createTarget('sqlite');
    const folder = tempFolder();
    const service = await startTestService(url);
    cleanUp.push(remove, folder.remove, () => service[Symbol.asyncDispose]());
    const { entityId, apiKey } = service.first;
    const keyboard = Object.assign(new EventEmitter(), { resume: () => undefined, pause: () => undefined });
    const screen = new Written({ isTTY: true, columns: 80 });
    const login = run(['login', '--server', service.url], {
      stdin: new Blob(),
      keyboard,
      stdout: screen.stream,
      stderr: screen.stream,
      env: { HOME: folder.path },
      nextStopSignal: () => new Promise<never>(() => undefined),
    });
    for (const [prompt, answer] of [
      ['Entity id: ', entityId],
      ['Key (not shown): ', apiKey],
    ] as const) {
      await until(`it asks for ${prompt}`, () => screen.text.endsWith(prompt));
      keyboard.emit('data', Buffer.from(`${answer}\r`));
    }
    expect(await login).toBe(0);
    expect(screen.text).toContain(`Logged in to ${service.url} as ${entityId}`);
    expect(screen.text).not.toContain(apiKey);
    expect(readFileSync(join(folder.path, '.config/paybell/profiles.json'), 'utf8')).toContain(apiKey);
  });
});
