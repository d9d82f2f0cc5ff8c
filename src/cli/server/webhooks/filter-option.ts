import type { Command } from 'commander';
import { describeFilter } from '../../../domain/payload-filter/describe.ts';
import type { PayloadFilter } from '../../../domain/payload-filter/payload-filter.ts';
import { CommandError, EXIT } from '../../terminal/command-error.ts';
import { printable } from '../../terminal/output.ts';
import { terminal } from '../../terminal/terminal.ts';

/** The payload filter of a webhook as options: its JSON from the command line or from a file. */

export type FilterOptions = { filter?: string; filterFile?: string; clearFilter?: boolean };

export function addFilterOptions(command: Command): Command {
  return command
    .option('--filter <json>', 'receive only events whose payload matches, such as {"amount":{"min":"100"}}')
    .option('--filter-file <file>', 'the same from a file; - is standard input');
}

/** Undefined if no option names a filter. Null if the filter must be removed. */
export async function readFilter(options: FilterOptions): Promise<PayloadFilter | null | undefined> {
  const { filter, filterFile, clearFilter } = options;
  const given = [filter, filterFile, clearFilter].filter((option) => option !== undefined);
  if (given.length > 1) {
    throw new CommandError('give only one of --filter, --filter-file and --clear-filter', EXIT.usage);
  }
  if (clearFilter) return null;
  if (filter !== undefined) return parseFilter(filter, '--filter');
  return filterFile === undefined ? undefined : parseFilter(await readFile(filterFile), filterFile);
}

async function readFile(file: string): Promise<string> {
  const source = file === '-' ? terminal().stdin : Bun.file(file);
  return source.text().catch(() => {
    throw new CommandError(`cannot read ${file}`);
  });
}

/** The server checks the fields of the filter, and names each error. */
function parseFilter(text: string, from: string): PayloadFilter {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new CommandError(`${from} is not valid JSON`, EXIT.usage);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as PayloadFilter;
  throw new CommandError(`${from} must be a JSON object of payload fields, such as {"token":["USDC"]}`, EXIT.usage);
}

/** For one line of a field list. */
export function showFilter(filter: PayloadFilter | null): string {
  return filter === null ? 'none' : printable(describeFilter(filter).join('; '));
}
