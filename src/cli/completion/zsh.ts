import { type DescribedCommand, type Offered, optionsWithValue } from './described-commands.ts';

/** Works both sourced and as a file `_paybell` in a folder of `fpath`. */
export function zshScript(commands: readonly DescribedCommand[]): string {
  const [, ...subcommands] = commands;
  const valued = optionsWithValue(commands);
  const free = valued.filter(({ values }) => values.length === 0);
  const chosen = valued.filter(({ values }) => values.length > 0);
  return `#compdef paybell
# Completion of paybell in zsh.
_paybell() {
  local command=paybell word
  local -a offered
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$command $word" in
${subcommands.map(({ path }) => `      ('${path}') command='${path}' ;;`).join('\n')}
    esac
  done
  case "$command \${words[CURRENT-1]}" in
${chosen.map(({ path, values }) => `    ('${path}') offered=(${values.join(' ')}) ;;`).join('\n')}
${free.map(({ path }) => `    ('${path}') _files; return ;;`).join('\n')}
    (*)
      case "$command" in
${commands.map((command) => `        ('${command.path}') offered=(${described(command)}) ;;`).join('\n')}
      esac
      ;;
  esac
  _describe paybell offered || _files
}
compdef _paybell paybell
if [[ "\${funcstack[1]}" == _paybell ]]; then _paybell "$@"; fi
`.replace(/\n\n+/g, '\n');
}

function described({ words, options }: DescribedCommand): string {
  return [...words, ...options].map(quoted).join(' ');
}

function quoted({ word, description }: Offered): string {
  return `'${`${word}:${description}`.replaceAll("'", "'\\''")}'`;
}
