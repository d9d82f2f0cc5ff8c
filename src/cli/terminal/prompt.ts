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

type PromptOptions = {
  secret?: boolean;
  input?: Terminal;
  output?: { write(text: string): unknown };
};

/** Prompts on the terminal. The input is echoed unless it is a secret. */
export async function prompt(
  question: string,
  { secret = false, input = process.stdin, output = process.stderr }: PromptOptions = {},
): Promise<string> {
  output.write(question);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let typed = '';
  const handle = (character: string): void => {
    if (ENTER.test(character)) resolve(typed);
    else if (character === CTRL_C || (character === CTRL_D && typed === '')) {
      reject(new CommandError('cancelled; nothing was stored', EXIT.failure));
    } else if (BACKSPACE.test(character)) {
      if (typed !== '' && !secret) output.write('\b \b');
      typed = typed.slice(0, -1);
    } else if (character >= ' ') {
      typed += character;
      if (!secret) output.write(character);
    }
  };
  const listener = (chunk: Buffer) => {
    for (const character of chunk.toString('utf8')) handle(character);
  };
  // In raw mode the terminal does not echo what is typed.
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

/** The first line of standard input, for scripts that log in. */
export async function readFirstLine(): Promise<string> {
  return (await Bun.stdin.text()).split('\n')[0]?.trim() ?? '';
}
