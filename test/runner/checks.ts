/**
 * Types and lint, which run at the same time as the tests. `tsc` has four checkers by default, and each of them works out again
 * most types that the others know. One takes half of the processor time, which here the tests would wait for.
 */

const ONE_CHECKER = ['--checkers', '1'] as const;
const COMMANDS = [
  ['tsc', ...ONE_CHECKER],
  ['tsc', '-p', 'src/dashboard', ...ONE_CHECKER],
  ['biome', 'check', '--error-on-warnings', '.'],
] as const;

export type Checks = {
  /** Waits for the end, prints what failed, and returns whether everything passed. */
  finish(): Promise<boolean>;
};

export function startChecks(folder: string): Checks {
  const runs = COMMANDS.map(async ([program, ...args]) => {
    const child = Bun.spawn([`${folder}/node_modules/.bin/${program}`, ...args], {
      cwd: folder,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    return { command: [program, ...args].join(' '), isPassed: exitCode === 0, output: stdout + stderr };
  });
  return {
    async finish() {
      const ended = await Promise.all(runs);
      for (const { command, isPassed, output } of ended) {
        console.log(isPassed ? `passed: ${command}` : `FAILED: ${command}\n${output}`);
      }
      return ended.every(({ isPassed }) => isPassed);
    },
  };
}
