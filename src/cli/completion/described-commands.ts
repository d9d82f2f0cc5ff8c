import type { Command } from 'commander';

/** A word that can follow on the command line. */
export type Offered = { readonly word: string; readonly description: string };

export type DescribedOption = Offered & {
  readonly takesValue: boolean;
  /** The values that the option takes, if the list is fixed; empty for any value. */
  readonly values: readonly string[];
};

export type DescribedCommand = {
  /** The words of the command, beginning with `paybell`. */
  readonly path: string;
  /** Subcommands, or the values of the argument if their list is fixed. */
  readonly words: readonly Offered[];
  readonly options: readonly DescribedOption[];
};

/** Every command that the help shows, each after its parent command. */
export function describeCommands(command: Command, path = 'paybell'): DescribedCommand[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command);
  const named = subcommands.map((subcommand) => ({ word: subcommand.name(), description: subcommand.description() }));
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  const described: DescribedCommand = {
    path,
    words: [...named, ...choices.map((word) => ({ word, description: '' }))],
    options: help.visibleOptions(command).map((option) => ({
      word: option.long ?? option.short ?? '',
      description: option.description,
      takesValue: option.required || option.optional,
      values: option.argChoices ?? [],
    })),
  };
  return [described, ...subcommands.flatMap((each) => describeCommands(each, `${path} ${each.name()}`))];
}

/** The options that take a value, each with the words of its command. */
export function optionsWithValue(commands: readonly DescribedCommand[]): { path: string; values: readonly string[] }[] {
  return commands.flatMap(({ path, options }) =>
    options.filter(({ takesValue }) => takesValue).map(({ word, values }) => ({ path: `${path} ${word}`, values })),
  );
}
