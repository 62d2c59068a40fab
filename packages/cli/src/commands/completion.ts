import { Argument, type Command } from 'commander';
import { bashCompletion } from '../completion/bash.js';
import { fishCompletion } from '../completion/fish.js';
import { type KnownWords, syntaxOf } from '../completion/syntax.js';
import { zshCompletion } from '../completion/zsh.js';

const scripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };
type Shell = keyof typeof scripts;

/** @param completeProgram creates the program including the options that are added only when their command runs */
export function addCompletion(program: Command, completeProgram: () => Promise<Command>): void {
  program
    .command('completion')
    .summary('print a completion script for a shell')
    .description(
      'Print a script that makes a shell complete commands, options and files.\n' +
        '  bash  add  eval "$(gen3d completion bash)"  to ~/.bashrc\n' +
        '  zsh   add  eval "$(gen3d completion zsh)"  to ~/.zshrc, after compinit\n' +
        '  fish  add  gen3d completion fish | source  to ~/.config/fish/config.fish',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(scripts)))
    .action(async (shell: Shell) => {
      process.stdout.write(scripts[shell](program.name(), syntaxOf(await completeProgram(), await bundleNames())));
    });
}

/** Lists the bundles that are installed or can be pulled. Shells run this whenever they start. */
async function bundleNames(): Promise<KnownWords> {
  const { builtInBundle, installedBundles, modelDirs } = await import('@gen3d/engine/bundles');
  const { loadConfig } = await import('@gen3d/server');
  const { readCatalogs } = await import('@gen3d/weights/offers');
  try {
    const directories = modelDirs(loadConfig());
    const installed = (await installedBundles(directories)).map(({ name }) => name);
    const available = (await readCatalogs(directories)).map(({ manifest }) => manifest.name);
    const names = [...new Set([...installed, builtInBundle, ...available])];
    return { bundle: names, matte: names };
  } catch {
    // An invalid setting or catalog must not break every new shell.
    return {};
  }
}
