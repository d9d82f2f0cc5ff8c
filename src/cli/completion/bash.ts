import { type DescribedCommand, optionsWithValue } from './described-commands.ts';

/** Completes the value of an option as a file name, unless the option has a fixed list of values. */
export function bashScript(commands: readonly DescribedCommand[]): string {
  const [, ...subcommands] = commands;
  const valued = optionsWithValue(commands);
  const free = valued.filter(({ values }) => values.length === 0);
  const chosen = valued.filter(({ values }) => values.length > 0);
  return `# Completion of paybell in bash.
_paybell() {
  local command=paybell words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command \${COMP_WORDS[i]}" in
${subcommands.map(({ path }) => `      '${path}') command='${path}' ;;`).join('\n')}
    esac
  done
  case "$command \${COMP_WORDS[COMP_CWORD - 1]}" in
${chosen.map(({ path, values }) => `    '${path}') words='${values.join(' ')}' ;;`).join('\n')}
${free.map(({ path }) => `    '${path}') return ;;`).join('\n')}
    *)
      case "$command" in
${commands.map((command) => `        '${command.path}') words='${wordsOf(command).join(' ')}' ;;`).join('\n')}
      esac
      ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _paybell paybell
`.replace(/\n\n+/g, '\n');
}

function wordsOf({ words, options }: DescribedCommand): string[] {
  return [...words, ...options].map(({ word }) => word);
}
