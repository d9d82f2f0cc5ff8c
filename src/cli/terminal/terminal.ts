import type { AsyncLocalStorage } from 'node:async_hooks';

/**
 * The input, outputs, settings and stop signal of a command. The process has its own terminal, unless the caller of
 * `run` gives another one.
 */

export type Environment = Readonly<Record<string, string | undefined>>;

export type Input = Pick<Blob, 'text' | 'bytes' | 'stream'>;

export type Output = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

/** The key presses of a person. */
export type Keyboard = {
  setRawMode?(raw: boolean): unknown;
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  off(event: 'data', listener: (chunk: Buffer) => void): unknown;
  resume(): unknown;
  pause(): unknown;
};

export type Terminal = {
  readonly stdin: Input;
  /** Null if standard input is a file or a pipe. */
  readonly keyboard: Keyboard | null;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Environment;
  /** Resolves with the name of the signal that stops an endless command. */
  readonly nextStopSignal: () => Promise<string>;
};

/** Reads each stream when a command uses it, because opening one takes time and may keep the process alive. */
const PROCESS: Terminal = {
  get stdin() {
    return Bun.stdin;
  },
  get keyboard() {
    return process.stdin.isTTY ? process.stdin : null;
  },
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    return process.stderr;
  },
  get env() {
    return process.env;
  },
  // The listeners stay: under npm, Ctrl-C arrives twice, from the terminal and from npm, and the second signal must not
  // end the process while it stops.
  nextStopSignal: () =>
    new Promise((resolve) => {
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve(signal));
    }),
};

/** Set by the first command that runs on a given terminal. */
let given: AsyncLocalStorage<Terminal> | null = null;

export function terminal(): Terminal {
  return given?.getStore() ?? PROCESS;
}

/** False if the command shares its process with its caller, and must leave it running. */
export function ownsProcess(): boolean {
  return terminal() === PROCESS;
}

/**
 * Runs the work, and everything that it starts, on that terminal. Several commands can run at the same time, each on
 * its own terminal.
 */
export async function onTerminal<Value>(on: Terminal, work: () => Promise<Value>): Promise<Value> {
  // Loaded only here, because the program itself runs on the process and starts sooner without it.
  const { AsyncLocalStorage } = await import('node:async_hooks');
  given ??= new AsyncLocalStorage();
  return given.run(on, work);
}
