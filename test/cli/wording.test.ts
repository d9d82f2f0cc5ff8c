import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Command, Option } from 'commander';
import { misspeltSettings } from '../../src/cli/operator/settings.ts';
import { createProgram } from '../../src/cli/program.ts';
import { invocation, serveInvocation } from '../../src/cli/terminal/invocation.ts';
import { SETTING_NAMES } from '../../src/config.ts';
import { commandLineIn, settingsIn, startServe } from '../support/command-line.ts';
import { runPaybell, tempFolder } from '../support/paybell.ts';

const folder = tempFolder();
afterAll(() => folder.remove());
const paybell = (args: string[], settings: Record<string, string> = {}) => commandLineIn(folder.path, settings)(args);

/** The commands that have no subcommands. */
const leaves = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
const has = (options: readonly Option[], name: string) => options.some(({ long }) => long === name);

describe('what a message tells people to type', () => {
  test.each([
    [{}, 'paybell'],
    [{ npm_package_name: 'paybell', npm_lifecycle_event: 'paybell' }, 'npm run -s paybell --'],
    [{ npm_package_name: 'paybell', npm_lifecycle_event: 'start' }, 'npm run -s paybell --'],
    [{ npm_package_name: 'shop', npm_lifecycle_event: 'start' }, 'paybell'],
    [{ npm_lifecycle_event: 'npx', npm_lifecycle_script: 'paybell listen' }, 'npx paybell'],
    [{ npm_lifecycle_event: 'npx', npm_lifecycle_script: "'paybell'" }, 'npx paybell'],
    [{ npm_lifecycle_event: 'npx', npm_lifecycle_script: 'bun src/main.ts' }, 'paybell'],
  ])('with %j begins with %p', (environment, words) => {
    expect(invocation(environment as Record<string, string>)).toBe(words);
  });

  test.each([
    [{}, 'paybell serve'],
    [{ npm_package_name: 'paybell', npm_lifecycle_event: 'start' }, 'npm start'],
    [{ npm_package_name: 'paybell', npm_lifecycle_event: 'dev' }, 'npm run dev'],
    [{ npm_package_name: 'paybell', npm_lifecycle_event: 'paybell' }, 'npm run -s paybell -- serve'],
    [{ npm_package_name: 'shop', npm_lifecycle_event: 'start' }, 'paybell serve'],
    [{ npm_lifecycle_event: 'npx', npm_lifecycle_script: 'paybell serve' }, 'npx paybell serve'],
  ])('with %j starts the service with %p', (environment, words) => {
    expect(serveInvocation(environment as Record<string, string>)).toBe(words);
  });

  test('is what they typed, in errors, in hints and in the help', async () => {
    const npm = { npm_package_name: 'paybell', npm_lifecycle_event: 'paybell' };
    const underNpm = (...args: string[]) => runPaybell(args, folder.path, npm);
    expect((await underNpm('webhooks', 'list')).stderr).toContain('npm run -s paybell -- login');
    expect((await underNpm('keys', 'list')).stderr).toContain('npm run -s paybell -- entities create');
    const { stdout } = await underNpm('listen', '--help');
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

  test('of every command ends with what to type: words that lead to it, and options that it has', async () => {
    const commands = leaves(await createProgram());
    expect(commands.length).toBeGreaterThan(40);
    for (const command of commands) {
      let help = '';
      command.configureOutput({ writeOut: (text) => (help += text) });
      command.outputHelp();
      const name = help.match(/^Usage: (paybell(?: [a-z-]+)*)/)?.[1] ?? 'no usage';
      const examples = help.split('Examples:\n')[1]?.trimEnd().split('\n') ?? [];
      expect({ name, examples: examples.length > 0 }).toEqual({ name, examples: true });
      for (const example of examples) {
        expect(`${example} `).toStartWith(`  ${name} `);
        for (const [option] of example.matchAll(/--[a-z-]+/g)) expect(help.split('Examples:')[0]).toContain(option);
      }
    }
  });

  test('of every command has --json, but for those that print a log, a file or a script', async () => {
    const without = (command: Command, path: string): string[] => {
      const inner = command.commands.flatMap((each) => without(each, `${path}${each.name()} `));
      const isLeaf = command.commands.length === 0;
      return isLeaf && !has(command.options, '--json') ? [path.trim()] : inner;
    };
    expect(without(await createProgram(), '').sort()).toEqual(['completion', 'export', 'serve']);
  });

  test('of a command is the same, whether it is loaded alone or with all others', async () => {
    const all = await createProgram();
    const named = all.commands.filter((command) => command.name() !== 'help');
    for (const command of named) {
      const alone = await createProgram({ only: command.name() });
      expect(alone.commands.map((loaded) => loaded.name())).toEqual([command.name()]);
      expect(alone.commands[0]?.helpInformation()).toBe(command.helpInformation());
    }
    expect(named.length).toBeGreaterThan(25);
  });

  test('of serve lists every setting with its default and what it does, within 80 columns', async () => {
    const { stdout } = await paybell(['serve', '--help']);
    for (const name of SETTING_NAMES) expect(stdout).toMatch(new RegExp(`^  ${name}(=.*)?\\n {6}[A-Z]`, 'm'));
    expect(stdout).toContain('\n  PORT=8080\n      Port to listen on');
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('says what commands work on: those that can use a profile call a server, and those on the store cannot', async () => {
    const { stdout } = await paybell(['--help']);
    const { commands } = await createProgram();
    const canUseProfile = (command: Command) => leaves(command).some(({ options }) => has(options, '--profile'));
    for (const [heading, expected] of [
      ['Call a server, with PAYBELL_URL and a key or with a profile that login stored:', true],
      ['Operate the store, with DATABASE_URL; these need no server and no key:', false],
    ] as const) {
      const group = commands.filter((command) => command.helpGroup() === heading);
      expect(group.length).toBeGreaterThan(5);
      expect(group.map((command) => [command.name(), canUseProfile(command)])).toEqual(
        group.map((command) => [command.name(), expected]),
      );
      const shown = stdout.split(`${heading}\n`)[1]?.split('\n\n')[0] ?? '';
      expect([...shown.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name)).toEqual(
        group.map((command) => command.name()),
      );
    }
  });
});

describe('a misspelt setting', () => {
  test.each([
    ['DATBASE_URL', 'DATABASE_URL'],
    ['Retention', 'RETENTION'],
    ['PRT', 'PORT'],
    ['PROT', 'PORT'],
    ['HOSTT', 'HOST'],
    ['PAYBELL_RETENTION', 'RETENTION'],
  ])('%s is taken for %s', (name, meant) => {
    expect(misspeltSettings({ [name]: 'x' })).toEqual([{ name, meant }]);
    expect(misspeltSettings({ [name]: 'x', [meant]: 'y' })).toEqual([]);
  });

  test.each(['HOME', 'PATH', 'PWD', 'SORT', 'COST', 'TERM', 'PAYBELL_URL', 'PAYBELL_PROCESSOR', 'NODE_ENV', 'LOGNAME'])(
    '%s is left alone',
    (name) => {
      expect(misspeltSettings({ [name]: 'x' })).toEqual([]);
    },
  );

  test.each([
    [['entities', 'create', '--name', 'A'], 0],
    [['migrate'], 0],
    [['backup', join(folder.path, 'copy.db')], 0],
    [['ready'], 1],
  ])('is named on standard error by %j', async (args, exitCode) => {
    const outcome = await paybell(args, { PORT: '1', RETENTON: '5d' });
    expect({ exitCode: outcome.exitCode, stderr: outcome.stderr }).toEqual({
      exitCode,
      stderr: expect.stringMatching(/^warning: RETENTON is not a setting and is ignored; did you mean RETENTION\?\n/),
    });
  });

  test('is named by serve at every log level', async () => {
    const served = await startServe(settingsIn(folder.path, { RETENTIN: '90d', LOG_LEVEL: 'silent' }));
    expect((await served.stop()).stderr).toBe(
      'warning: RETENTIN is not a setting and is ignored; did you mean RETENTION?\n',
    );
  });

  test('is named beside the setting that is missing because of it', async () => {
    const settings = { DATABASE_URL: 'postgres://a:b@127.0.0.1:1/c', SECRT_KEY: 'x' };
    const { exitCode, stderr } = await paybell(['serve'], settings);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/did you mean SECRET_KEY\?[\s\S]*SECRET_KEY must be set/);
    expect((await paybell(['doctor'], settings)).stdout).toMatch(
      /SECRET_KEY must be set[\s\S]*Did you mean SECRET_KEY\?/,
    );
  });
});
