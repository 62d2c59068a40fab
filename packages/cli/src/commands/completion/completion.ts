import { Argument, type Command } from 'commander';
import { bashScript } from './bash-script.js';
import { completions, printedBy } from './completions.js';

const shells = ['bash', 'zsh', 'fish'] as const;

/** @param completeProgram creates the program, with the options that are added only when one of these commands runs */
export function addCompletion(program: Command, completeProgram: (commands: readonly string[]) => Promise<Command>) {
  program
    .command('completion')
    .summary('print a completion script for a shell')
    .description(
      'Print a script that makes a shell complete commands, options and files.\n' +
        '  bash  add  eval "$(gen3d completion bash)"  to ~/.bashrc\n' +
        '  zsh   add  eval "$(gen3d completion zsh)"  to ~/.zshrc, after compinit\n' +
        '  fish  add  gen3d completion fish | source  to ~/.config/fish/config.fish',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .action(async (shell: (typeof shells)[number]) => {
      const name = program.name();
      const { script } = await import('@bomb.sh/tab');
      process.stdout.write(shell === 'bash' ? bashScript(name) : printedBy(() => script(shell, name, name)).join('\n'));
    });
  program
    .command('complete', { hidden: true })
    .summary('list completions')
    .description('List completions of a command line, for the scripts of `gen3d completion`.')
    .argument('[words...]', 'the words of the command line up to the cursor')
    .action(async (words: string[]) => {
      process.stdout.write(`${(await completions(words, await completeProgram(words))).join('\n')}\n`);
    });
}
