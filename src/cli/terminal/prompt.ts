import { CommandError, EXIT } from './command-error.ts';
import { type Keyboard, terminal } from './terminal.ts';

const ENTER = /[\r\n]/;
const CTRL_C = '\x03';
const CTRL_D = '\x04';
const BACKSPACE = /[\x7f\b]/;

type PromptOptions = { secret?: boolean; output?: { write(text: string): unknown } };

/** Prompts the person at the keyboard. The input is echoed unless it is a secret. */
export async function prompt(
  keyboard: Keyboard,
  question: string,
  { secret = false, output = terminal().stderr }: PromptOptions = {},
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
  keyboard.setRawMode?.(true);
  keyboard.on('data', listener);
  keyboard.resume();
  try {
    return (await promise).trim();
  } finally {
    keyboard.off('data', listener);
    keyboard.setRawMode?.(false);
    keyboard.pause();
    output.write('\n');
  }
}

/** The first line of standard input, for scripts that log in. */
export async function readFirstLine(): Promise<string> {
  return (await terminal().stdin.text()).split('\n')[0]?.trim() ?? '';
}
