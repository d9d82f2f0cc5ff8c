import type { Command } from 'commander';
import type { z } from 'zod';
import { explainAbsence } from '../../contract/parse-input.ts';
import { UsageError } from '../terminal/command-error.ts';

/** The values of a command's options, by their names in camel case. */
export type OptionValues = Record<string, string | boolean | undefined>;

/** The list parameters of the API as options, with the same names and the same rules. */
export function addListOptions(command: Command): Command {
  return command
    .option('--page <number>', 'page to show')
    .option('--limit <number>', 'rows per page, at most 100')
    .option('--sort-by <field>', 'field to sort by')
    .option('--sort-dir <direction>', 'asc or desc')
    .option('--json', 'print JSON');
}

export function parseOptions<Schema extends z.ZodObject>(
  schema: Schema,
  { json: _, ...values }: Readonly<OptionValues>,
  optionOf: Readonly<Record<string, string>> = {},
): z.output<Schema> {
  const result = schema.safeParse(values);
  if (result.success) return result.data;
  const errors = result.error.issues.map((issue) => {
    const name = issue.path.join('.');
    return `--${toOption(optionOf[name] ?? name)} ${explainAbsence(issue, values)}`;
  });
  throw new UsageError(errors.join('\n      '));
}

export function toOption(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
