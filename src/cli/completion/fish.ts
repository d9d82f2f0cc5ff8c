import type { DescribedCommand, DescribedOption } from './described-commands.ts';

export function fishScript(commands: readonly DescribedCommand[]): string {
  const [, ...subcommands] = commands;
  return `# Completion of paybell in fish.
function __paybell_command
  set -l command paybell
  set -l words (commandline -opc)
  set -e words[1]
  for word in $words
    switch "$command $word"
${subcommands.map(({ path }) => `      case '${path}'\n        set command '${path}'`).join('\n')}
    end
  end
  echo $command
end
${commands.flatMap(linesOf).join('\n')}
`;
}

function linesOf({ path, words, options }: DescribedCommand): string[] {
  const begin = `complete -c paybell -n 'test (__paybell_command) = "${path}"'`;
  return [
    ...words.map(({ word, description }) => `${begin} -f -a ${word} -d ${quoted(description)}`),
    ...options.map((option) => `${begin} ${optionText(option)}`),
  ];
}

function optionText({ word, description, takesValue, values }: DescribedOption): string {
  const name = word.startsWith('--') ? `-l ${word.slice(2)}` : `-s ${word.slice(1)}`;
  const value = values.length > 0 ? ` -x -a ${quoted(values.join(' '))}` : takesValue ? ' -r' : '';
  return `${name}${value} -d ${quoted(description)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
