import type { Command } from 'commander';
import { PAYBELL } from './invocation.ts';

/** Puts examples at the end of a command's help, after an optional note. */
export function addExamples(command: Command, examples: readonly string[], note?: string): Command {
  const lines = examples.map((example) => `  ${PAYBELL} ${example}`);
  return command.addHelpText('after', `\n${note === undefined ? '' : `${note}\n\n`}Examples:\n${lines.join('\n')}`);
}
