import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { run } from '../../src/cli/program.ts';
import type { Output } from '../../src/cli/terminal/terminal.ts';
import { runPaybell } from './paybell.ts';
import { until } from './until.ts';

/** The SECRET_KEY that opens what tests seal through TEST_BOX. */
export const TEST_SECRET_KEY = Buffer.alloc(32, 7).toString('base64');
export const OTHER_SECRET_KEY = Buffer.alloc(32, 8).toString('base64');

type Settings = Readonly<Record<string, string>>;
export type CommandOutcome = { exitCode: number; stdout: string; stderr: string };
export type CommandLine = (args: readonly string[], input?: string | Uint8Array) => Promise<CommandOutcome>;

/** A home folder without profiles: the developer's profiles would change what commands do. */
const NO_HOME = '/nonexistent';

/**
 * Runs `paybell` in this process, with the given settings and no others. Paths have to be absolute, because a command has the
 * working folder of the tests. Tests of signals, pipes and the life of a process use `runPaybell`.
 */
export function commandLine(settings: Settings): CommandLine {
  return (args, input) => startCommand(args, settings, input).ended;
}

/**
 * The same as a separate process, for commands on a SQLite store that a service of this process writes to. A command waits for
 * the lock of the store without letting the service continue, and so would wait for itself.
 */
export function commandProcess(settings: Settings): CommandLine {
  return (args) => runPaybell(args, tmpdir(), { NO_COLOR: '1', ...settings });
}

/** Commands with their home and their store in that folder, like a process that is started there. */
export function commandLineIn(folder: string, settings: Settings = {}): CommandLine {
  return commandLine(settingsIn(folder, settings));
}

export function settingsIn(folder: string, settings: Settings = {}): Settings {
  return { HOME: folder, DATABASE_URL: `sqlite:${join(folder, 'data/paybell.db')}`, ...settings };
}

export type RunningCommand = {
  /** Everything printed so far. */
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Stops the command as Ctrl-C does, and waits for its end. */
  readonly stop: () => Promise<CommandOutcome>;
  readonly ended: Promise<CommandOutcome>;
  readonly hasEnded: () => boolean;
};

/** Starts a command in this process, for commands that do not end by themselves. */
export function startCommand(
  args: readonly string[],
  settings: Settings = {},
  input: string | Uint8Array = '',
): RunningCommand {
  const stdout = new Written();
  const stderr = new Written();
  const stopped = Promise.withResolvers<string>();
  let hasEnded = false;
  const ended = run(args, {
    stdin: new Blob([new Uint8Array(Buffer.from(input))]),
    keyboard: null,
    stdout: stdout.stream,
    stderr: stderr.stream,
    env: { HOME: NO_HOME, NO_COLOR: '1', DATABASE_TIMEOUT: '60s', ...settings },
    nextStopSignal: () => stopped.promise,
  }).then((exitCode) => {
    hasEnded = true;
    return { exitCode, stdout: stdout.text, stderr: stderr.text };
  });
  return {
    stdout: () => stdout.text,
    stderr: () => stderr.text,
    stop: () => {
      stopped.resolve('SIGINT');
      return ended;
    },
    ended,
    hasEnded: () => hasEnded,
  };
}

/** Starts `paybell serve` in this process, on a free port, and waits until it listens. */
export async function startServe(settings: Settings): Promise<RunningCommand & { readonly url: string }> {
  const command = startCommand(['serve'], { PORT: '0', ...settings });
  const url = () => /is listening on (http:\S+)[\s\S]*API reference/.exec(command.stdout())?.[1] ?? '';
  await until('it listens', () => url() !== '' || command.hasEnded());
  if (url() === '') throw new Error(`paybell serve ended before it listened: ${command.stderr()}`);
  return { ...command, url: url() };
}

/** An output that keeps what is written. */
export class Written {
  readonly stream: Output;
  text = '';

  constructor(screen: { readonly isTTY?: boolean; readonly columns?: number } = {}) {
    const decoder = new TextDecoder();
    const stream = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.text += decoder.decode(chunk, { stream: true });
        done();
      },
    });
    this.stream = Object.assign(stream, screen);
  }
}
