import type { Command } from 'commander';
import { describeFilter } from '../../../domain/payload-filter/describe.ts';
import type { PayloadFilter } from '../../../domain/payload-filter/payload-filter.ts';
import { parseObject, readTextFile } from '../../formats/json-file.ts';
import { UsageError } from '../../terminal/command-error.ts';
import { printable } from '../../terminal/output.ts';

/** The payload filter of a webhook as options: its JSON from the command line or from a file. */

const FORM = ' of payload fields, such as {"token":["USDC"]}';

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
    throw new UsageError('give only one of --filter, --filter-file and --clear-filter');
  }
  if (clearFilter) return null;
  if (filter !== undefined) return parseObject(filter, '--filter', FORM);
  return filterFile === undefined ? undefined : parseObject(await readTextFile(filterFile), filterFile, FORM);
}

/** The filter as one line of a field list. */
export function showFilter(filter: PayloadFilter | null): string {
  return filter === null ? 'none' : printable(describeFilter(filter).join('; '));
}
