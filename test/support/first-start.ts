import { expect } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { firstCredentials } from './paybell.ts';
import { PROGRAM } from './program.ts';

/** The lines that a person would copy from the output. */
export function printed(stdout: string) {
  const { entityId, apiKey } = firstCredentials(stdout) ?? { entityId: '', apiKey: '' };
  const commands = stdout.split(/\r?\n/).filter((line) => /^ +(export|paybell) /.test(line));
  return { entityId, apiKey, commands, headers: { 'api-key': apiKey, 'entity-id': entityId } };
}

export function logLines(stdout: string): string[] {
  return stdout.split('\n').filter((line) => line.startsWith('{'));
}

/** Pastes the lines into one shell, with `paybell` as an installed command in the folder. */
export async function pasteInto(folder: string, lines: readonly string[]): Promise<string> {
  const program = PROGRAM.map((word) => `"${word}"`).join(' ');
  writeFileSync(join(folder, 'paybell'), `#!/bin/sh\nexec ${program} "$@"\n`, { mode: 0o755 });
  const env = { PATH: `${folder}:${process.env.PATH ?? ''}`, HOME: folder };
  const shell = Bun.spawn(['sh', '-eu', '-c', lines.join('\n')], { env, stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr] = await Promise.all([shell.stdout.text(), shell.stderr.text()]);
  expect({ exitCode: await shell.exited, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return stdout;
}
