import { Argument, type Command } from 'commander';
import { addExamples } from '../terminal/help.ts';
import { terminal } from '../terminal/terminal.ts';
import { bashScript } from './bash.ts';
import { type DescribedCommand, describeCommands } from './described-commands.ts';
import { fishScript } from './fish.ts';
import { zshScript } from './zsh.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const satisfies Record<
  string,
  (commands: readonly DescribedCommand[]) => string
>;
type Shell = keyof typeof SCRIPTS;

const NOTE = [
  'Load the script in the file that your shell reads at its start:',
  '  bash  source <(paybell completion bash)     in ~/.bashrc',
  '  zsh   source <(paybell completion zsh)      in ~/.zshrc, after compinit',
  '  fish  paybell completion fish | source      in ~/.config/fish/config.fish',
].join('\n');

/** `loadAll` returns the program with all commands, because the running program has only this command. */
export function addCompletion(program: Command, loadAll: () => Promise<Command>): void {
  const completion = program
    .command('completion')
    .description('print a script that completes commands and options')
    .addArgument(new Argument('<shell>', 'the shell that reads it').choices(Object.keys(SCRIPTS)))
    .action(async (shell: Shell) => {
      terminal().stdout.write(SCRIPTS[shell](describeCommands(await loadAll())));
    });
  addExamples(completion, ['completion bash', 'completion fish'], NOTE);
}
