import { PROGRAM } from './program.ts';

/** What `paybell` shows on a terminal of that width, line by line, and its exit code. */
export async function onTerminal(
  columns: number,
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<{ lines: string[]; exitCode: number }> {
  const decoder = new TextDecoder();
  let shown = '';
  const child = Bun.spawn([...PROGRAM, ...args], {
    env: { PATH: process.env.PATH ?? '', TERM: 'xterm-256color', ...settings },
    terminal: {
      cols: columns,
      rows: 50,
      data: (_terminal, bytes) => {
        shown += decoder.decode(bytes, { stream: true });
      },
    },
  });
  const exitCode = await child.exited;
  return { lines: shown.trimEnd().split('\r\n'), exitCode };
}
