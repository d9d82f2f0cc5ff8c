import type { Command } from 'commander';

/** A word that can follow on the command line. */
export type Offered = { readonly word: string; readonly description: string };

export type DescribedOption = Offered & {
  readonly takesValue: boolean;
  /** The values that it takes, if there are only these. */
  readonly values: readonly string[];
};

export type DescribedCommand = {
  /** The words that lead to it, beginning with `paybell`. */
  readonly path: string;
  /** Subcommands, or the values of the argument if there are only these. */
  readonly words: readonly Offered[];
  readonly options: readonly DescribedOption[];
};

/** Every command that the help shows, each after the one that it belongs to. */
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

/** The options that take a value, each with the words that lead to it. */
export function optionsWithValue(commands: readonly DescribedCommand[]): { path: string; values: readonly string[] }[] {
  return commands.flatMap(({ path, options }) =>
    options.filter(({ takesValue }) => takesValue).map(({ word, values }) => ({ path: `${path} ${word}`, values })),
  );
}
