import { CommandError, EXIT } from './command-error.ts';

const ENTER = /[\r\n]/;
const CTRL_C = '\x03';
const CTRL_D = '\x04';
const BACKSPACE = /[\x7f\b]/;

type Terminal = {
  isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  off(event: 'data', listener: (chunk: Buffer) => void): unknown;
  resume(): unknown;
  pause(): unknown;
};

/** Asks on the terminal; what is typed is shown unless it is a secret. */
export async function ask(
  question: string,
  {
    secret = false,
    input = process.stdin as Terminal,
    output = process.stderr as { write(text: string): unknown },
  } = {},
): Promise<string> {
  output.write(question);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let typed = '';
  const take = (character: string): void => {
    if (ENTER.test(character)) resolve(typed);
    else if (character === CTRL_C || (character === CTRL_D && typed === '')) {
      reject(new CommandError('nothing was stored', EXIT.failure));
    } else if (BACKSPACE.test(character)) {
      if (typed !== '' && !secret) output.write('\b \b');
      typed = typed.slice(0, -1);
    } else if (character >= ' ') {
      typed += character;
      if (!secret) output.write(character);
    }
  };
  const listener = (chunk: Buffer) => {
    for (const character of chunk.toString('utf8')) take(character);
  };
  // Raw, because only so the terminal itself does not show what is typed.
  input.setRawMode?.(true);
  input.on('data', listener);
  input.resume();
  try {
    return (await promise).trim();
  } finally {
    input.off('data', listener);
    input.setRawMode?.(false);
    input.pause();
    output.write('\n');
  }
}

/** The first line of standard input, for programs that log in. */
export async function readFirstLine(): Promise<string> {
  return (await Bun.stdin.text()).split('\n')[0]?.trim() ?? '';
}
