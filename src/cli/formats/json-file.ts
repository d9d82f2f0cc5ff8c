import { CommandError, UsageError } from '../terminal/command-error.ts';
import { terminal } from '../terminal/terminal.ts';

/** The text of a file that an option names; `-` is standard input. */
export async function readTextFile(file: string): Promise<string> {
  const source = file === '-' ? terminal().stdin : Bun.file(file);
  return source.text().catch(() => {
    throw new CommandError(`cannot read ${file}`);
  });
}

/** A JSON object. The server checks its fields, and names each error. */
export function parseObject<Value extends object>(text: string, from: string, form: string): Value {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new UsageError(`${from} is not valid JSON`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Value;
  throw new UsageError(`${from} must be a JSON object${form}`);
}
