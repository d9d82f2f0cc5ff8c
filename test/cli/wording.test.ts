import { afterAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { misspeltSettings } from '../../src/cli/operator/misspelt-settings.ts';
import { createProgram } from '../../src/cli/program.ts';
import { invocation } from '../../src/cli/terminal/invocation.ts';
import { runPaybell, servePaybell, tempFolder } from '../support/paybell.ts';

const folder = tempFolder();
afterAll(() => folder.remove());
const paybell = (args: string[], settings: Record<string, string> = {}) => runPaybell(args, folder.path, settings);

describe('what a message tells people to type', () => {
  test.each([
    [{}, 'paybell'],
    [{ npm_package_name: 'paybell', npm_lifecycle_event: 'paybell' }, 'npm run -s paybell --'],
    [{ npm_package_name: 'paybell', npm_lifecycle_event: 'start' }, 'npm run -s paybell --'],
    [{ npm_package_name: 'shop', npm_lifecycle_event: 'start' }, 'paybell'],
    [{ npm_lifecycle_event: 'npx', npm_lifecycle_script: 'paybell listen' }, 'npx paybell'],
    [{ npm_lifecycle_event: 'npx', npm_lifecycle_script: 'bun src/main.ts' }, 'paybell'],
  ])('with %j begins with %p', (environment, words) => {
    expect(invocation(environment as Record<string, string>)).toBe(words);
  });

  test('is what they typed, in errors, in hints and in the help', async () => {
    const npm = { npm_package_name: 'paybell', npm_lifecycle_event: 'paybell' };
    expect((await paybell(['webhooks', 'list'], npm)).stderr).toContain('npm run -s paybell -- login');
    expect((await paybell(['keys', 'list'], npm)).stderr).toContain('npm run -s paybell -- entities create');
    const { stdout } = await paybell(['listen', '--help'], npm);
    expect(stdout).toContain('Usage: npm run -s paybell -- listen [options]');
    expect(stdout).toContain('\n  npm run -s paybell -- listen --forward http://localhost:8000/hook\n');
  });
});

describe('help', () => {
  test.each([[['nonsense', '--help']], [['keys', 'nonsense', '--help']], [['store', 'deliveries', 'nonsense', '-h']]])(
    'of a command that there is not is wrong usage: %j',
    async (args) => {
      const { exitCode, stdout, stderr } = await paybell(args);
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toContain("unknown command 'nonsense'");
    },
  );

  test.each([[['keys', '--help']], [['help', 'keys']], [['store', 'secrets', 'rotate', '--help']], [['--help']]])(
    'of one that there is, is shown: %j',
    async (args) => {
      expect(await paybell(args)).toMatchObject({
        exitCode: 0,
        stderr: '',
        stdout: expect.stringContaining('Usage: '),
      });
    },
  );

  test('of every command ends with what to type: words that lead to it, and options that it has', () => {
    const leaves = (command: Command): Command[] =>
      command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
    const commands = leaves(createProgram());
    expect(commands.length).toBeGreaterThan(40);
    for (const command of commands) {
      let help = '';
      command.configureOutput({ writeOut: (text) => (help += text) });
      command.outputHelp();
      const name = help.match(/^Usage: (paybell(?: [a-z]+)*)/)?.[1] ?? 'no usage';
      const examples = help.split('Examples:\n')[1]?.trimEnd().split('\n') ?? [];
      expect({ name, examples: examples.length > 0 }).toEqual({ name, examples: true });
      for (const example of examples) {
        expect(`${example} `).toStartWith(`  ${name} `);
        for (const [option] of example.matchAll(/--[a-z-]+/g)) expect(help.split('Examples:')[0]).toContain(option);
      }
    }
  });

  test('says first what commands work on: a server, or the store itself', async () => {
    const { stdout } = await paybell(['--help']);
    const group = (heading: string) =>
      [...(stdout.split(`${heading}\n`)[1]?.split('\n\n')[0] ?? '').matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name);
    expect(group('Call a server, with PAYBELL_URL and a key or with a profile that login stored:')).toEqual([
      'login',
      'logout',
      'whoami',
      'webhooks',
      'events',
      'deliveries',
      'secrets',
      'tail',
      'play',
    ]);
    expect(group('Operate the store, with DATABASE_URL; these need no server and no key:')).toEqual([
      'entities',
      'keys',
      'audit',
      'import',
      'export',
      'migrate',
      'backup',
      'prune',
      'store',
    ]);
  });
});

describe('what the first start prints', () => {
  test('logs in when it is pasted', async () => {
    const fresh = tempFolder();
    const served = await servePaybell(fresh.path, {});
    const [command = ''] = /PAYBELL_API_KEY=.*\n.* login .*/.exec(served.stdout()) ?? [];
    const shim = `#!/bin/sh\nexec "${process.execPath}" "${join(import.meta.dir, '../../src/main.ts')}" "$@"\n`;
    writeFileSync(join(fresh.path, 'paybell'), shim, { mode: 0o755 });
    const env = { PATH: `${fresh.path}:${process.env.PATH ?? ''}`, HOME: fresh.path };
    const shell = Bun.spawn(['sh', '-c', `${command} && paybell whoami`], { env, stdout: 'pipe', stderr: 'pipe' });
    const [stdout, stderr] = await Promise.all([new Response(shell.stdout).text(), new Response(shell.stderr).text()]);
    await served.stop();
    fresh.remove();
    expect(stderr).toBe('');
    expect(stdout).toMatch(new RegExp(`^server +${served.url}$`, 'm'));
    expect(stdout).not.toContain('pbk_');
  });
});

describe('a misspelt setting', () => {
  test('is found, unless the one that is meant is set too or its name is too short to tell', () => {
    expect(misspeltSettings({ DATBASE_URL: 'x', PRT: '1', HOME: '/', PAYBELL_URL: 'x' })).toEqual([
      { name: 'DATBASE_URL', meant: 'DATABASE_URL' },
    ]);
    expect(misspeltSettings({ DATBASE_URL: 'x', DATABASE_URL: 'y' })).toEqual([]);
  });

  test('is named on standard error by every command that goes by the settings', async () => {
    const { exitCode, stdout, stderr } = await paybell(['entities', 'create', '--name', 'A', '--json'], {
      DATBASE_URL: 'sqlite:./elsewhere.db',
    });
    expect(exitCode).toBe(0);
    expect(stderr).toBe('warning: DATBASE_URL is not a setting and is ignored; did you mean DATABASE_URL?\n');
    expect(JSON.parse(stdout)).toHaveProperty('entityId');
  });

  test('is named by serve in its log', async () => {
    const served = await servePaybell(folder.path, { RETENTIN: '90d' });
    const { stdout } = await served.stop();
    expect(stdout).toContain('"RETENTIN is not a setting and is ignored; did you mean RETENTION?"');
  });
});
