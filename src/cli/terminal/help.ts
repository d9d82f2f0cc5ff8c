import type { Command } from 'commander';
import { PAYBELL } from './invocation.ts';

/** What to type, at the end of a command's help: most people read nothing else of it. */
export function addExamples(command: Command, examples: readonly string[], note?: string): Command {
  const lines = examples.map((example) => `  ${PAYBELL} ${example}`);
  return command.addHelpText('after', `\n${note === undefined ? '' : `${note}\n\n`}Examples:\n${lines.join('\n')}`);
}
