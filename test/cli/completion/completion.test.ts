import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProgram } from '../../../src/cli/program.ts';
import { commandLine } from '../../support/command-line.ts';
import { tempFolder } from '../../support/paybell.ts';
import { run } from '../../support/programs.ts';
import { BASH, FISH, needs, ZSH } from '../../support/requirements.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
const { path: folder, remove } = tempFolder();
afterAll(remove);

beforeAll(async () => {
  for (const shell of SHELLS) {
    const { exitCode, stdout, stderr } = await commandLine({})(['completion', shell]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    writeFileSync(join(folder, `paybell.${shell}`), stdout);
  }
});

describe('completion in bash', () => {
  /** What bash offers for the last of these words. */
  async function offered(...words: string[]): Promise<string[]> {
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const script = `source ./paybell.bash; COMP_WORDS=(paybell ${quoted}); COMP_CWORD=${words.length}; _paybell
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    const output = await run(['bash', '--norc', '-euc', script], folder);
    return output.split('\n').filter((line) => line !== '');
  }

  const inBash = test.skipIf(!BASH.isMet);

  inBash(`offers every command, then its subcommands, then their options ${needs(BASH)}`, async () => {
    const commands = (await createProgram()).commands.map((command) => command.name());
    expect(await offered('')).toEqual(expect.arrayContaining([...commands, 'help', '--version', '--help']));
    expect(await offered('del')).toEqual(['deliveries']);
    expect(await offered('store', 'secrets', 'rot')).toEqual(['rotate', 'rotate-key']);
    expect(await offered('webhooks', 'create', 'https://example.com/', '--fi')).toEqual([
      '--filter',
      '--filter-file',
      '--finality',
    ]);
  });

  inBash(`offers the values of an argument or an option, and leaves others to files ${needs(BASH)}`, async () => {
    expect(await offered('completion', '')).toEqual(['bash', 'zsh', 'fish', '--help']);
    expect(await offered('export', '--format', 'c')).toEqual(['csv']);
    expect(await offered('webhooks', 'create', '--filter-file', '')).toEqual([]);
  });
});

test.each(SHELLS)('the script for %s has the commands', async (shell) => {
  const script = await Bun.file(join(folder, `paybell.${shell}`)).text();
  expect(script).toContain('paybell webhooks create');
});

for (const shell of [BASH, ZSH, FISH]) {
  const { label } = shell;
  test.skipIf(!shell.isMet)(`${label} reads its script without an error ${needs(shell)}`, async () => {
    expect(await run([label, '-n', `paybell.${label}`], folder)).toBe('');
  });
}

test('a shell that there is no script for is wrong usage, and the others are named', async () => {
  const { exitCode, stdout, stderr } = await commandLine({})(['completion', 'tcsh']);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toContain('Allowed choices are bash, zsh, fish');
});
