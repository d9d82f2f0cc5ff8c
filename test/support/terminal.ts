import { run } from '../../src/cli/program.ts';
import { Written } from './command-line.ts';
import { PROGRAM } from './program.ts';

type Settings = Readonly<Record<string, string>>;
type Shown = { lines: string[]; exitCode: number };

/** What `paybell` shows on a terminal of that width, line by line, and its exit code. */
export async function onTerminal(columns: number, args: readonly string[], settings: Settings): Promise<Shown> {
  const screen = new Written({ isTTY: true, columns });
  const exitCode = await run(args, {
    stdin: new Blob(),
    keyboard: null,
    stdout: screen.stream,
    stderr: screen.stream,
    env: { TERM: 'xterm-256color', ...settings },
    nextStopSignal: () => new Promise<never>(() => undefined),
  });
  return { lines: screen.text.trimEnd().split('\n'), exitCode };
}

/** The same of a process on a terminal of the system. */
export async function onSystemTerminal(columns: number, args: readonly string[], settings: Settings): Promise<Shown> {
  const decoder = new TextDecoder();
  let shown = '';
  const child = Bun.spawn([...PROGRAM, ...args], {
    env: { PATH: process.env.PATH ?? '', ...settings, TERM: settings.TERM ?? 'xterm-256color' },
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
