import { Argument, type Command } from 'commander';
import { bashCompletion } from '../completion/bash.js';
import { fishCompletion } from '../completion/fish.js';
import { syntaxOf } from '../completion/syntax.js';
import { zshCompletion } from '../completion/zsh.js';

const scripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };
type Shell = keyof typeof scripts;

/** @param complete the whole program, with those options too that are added when their command is called */
export function addCompletion(program: Command, complete: () => Promise<Command>): void {
  program
    .command('completion')
    .summary('print a completion script for a shell')
    .description(
      'Print a script that makes a shell complete commands, options and files.\n' +
        '  bash  put  eval "$(gen3d completion bash)"  into ~/.bashrc\n' +
        '  zsh   put  eval "$(gen3d completion zsh)"  into ~/.zshrc, after compinit\n' +
        '  fish  put  gen3d completion fish | source  into ~/.config/fish/config.fish',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(scripts)))
    .action(async (shell: Shell) => {
      process.stdout.write(scripts[shell](program.name(), syntaxOf(await complete())));
    });
}
