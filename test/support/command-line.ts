import { PROGRAM } from './program.ts';

/** The SECRET_KEY that opens what tests seal through TEST_BOX. */
export const TEST_SECRET_KEY = Buffer.alloc(32, 7).toString('base64');
export const OTHER_SECRET_KEY = Buffer.alloc(32, 8).toString('base64');

export type CommandOutcome = { exitCode: number; stdout: string; stderr: string };
export type CommandLine = (args: readonly string[], input?: string | Uint8Array) => Promise<CommandOutcome>;

/** Runs `paybell` as a separate process, with the given settings and no others. */
export function commandLine(settings: Readonly<Record<string, string>>): CommandLine {
  return async (args, input = '') => {
    const child = Bun.spawn([...PROGRAM, ...args], {
      env: { PATH: process.env.PATH ?? '', NO_COLOR: '1', DATABASE_TIMEOUT: '60s', ...settings },
      stdin: typeof input === 'string' ? Buffer.from(input) : input,
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    return { exitCode, stdout, stderr };
  };
}
