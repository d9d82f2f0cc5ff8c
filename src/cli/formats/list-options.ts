import type { Command } from 'commander';
import type { z } from 'zod';
import { CommandError, EXIT } from '../terminal/command-error.ts';

/** The list grammar as options: the same names, the same rules and the same words for a fault as over HTTP. */
export function addListOptions(command: Command): Command {
  return command
    .option('--page <number>', 'page to show')
    .option('--limit <number>', 'rows on a page, at most 100')
    .option('--sort-by <field>', 'field to sort by')
    .option('--sort-dir <direction>', 'asc or desc')
    .option('--json', 'print JSON');
}

export function parseOptions<Schema extends z.ZodObject>(
  schema: Schema,
  { json: _, ...given }: Readonly<Record<string, string | boolean | undefined>>,
): z.output<Schema> {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const faults = result.error.issues.map((issue) => `--${toOption(issue.path.join('.'))} ${issue.message}`);
  throw new CommandError(faults.join('\n      '), EXIT.usage);
}

export function toOption(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
