import type { RootCommand } from '@bomb.sh/tab';
import type { Argument, Command, Option } from 'commander';
import { inheritedOptions } from '../../terminal/help.js';

/** Words for placeholders in the help, such as the names of bundles for `<bundle>`. */
type KnownWords = Readonly<Record<string, readonly string[]>>;

type Offer = (complete: (word: string, description: string) => void) => void;

/**
 * Lists the completions of the last word, one per line, and as the last line how the shell continues: with no files
 * (`:4`), with files (`:0`) or with folders (`:16`).
 */
export async function completions(words: readonly string[], program: Command): Promise<string[]> {
  const { RootCommand, ShellCompDirective } = await import('@bomb.sh/tab');
  const known = words.some((word) => bundleCommands.has(word)) ? await bundleNames() : {};
  let directive: number | undefined;
  const offer =
    (name: string, { argChoices }: Pick<Option | Argument, 'argChoices'>): Offer =>
    (complete) => {
      const choices = argChoices ?? known[name];
      if (choices) for (const word of choices) complete(word, '');
      else if (/^(dir|folder)/.test(name)) directive = ShellCompDirective.ShellCompDirectiveFilterDirs;
      else if (/^(file|path|image|model|output)/.test(name)) directive = ShellCompDirective.ShellCompDirectiveDefault;
    };
  const root = new RootCommand();
  declare(root, program, '', offer);
  const lines = printedBy(() => root.parse(joined(words)));
  return lines.length === 1 && directive !== undefined ? [`:${directive}`] : lines;
}

/** Undoes the splitting of bash, which makes three words of `--status=FAILED` and of `http://host`. */
const joined = (words: readonly string[]): string[] =>
  words
    .join('\0')
    .replace(/\0:\0?/g, ':')
    .replace(/\0=(\0|$)/g, '\0')
    .split('\0');

function declare(
  root: RootCommand,
  command: Command,
  path: string,
  offer: (name: string, values: Pick<Option | Argument, 'argChoices'>) => Offer,
): void {
  const help = command.createHelp();
  const target = path === '' ? root : root.command(path, help.subcommandDescription(command));
  for (const option of [...help.visibleOptions(command), ...inheritedOptions(command)]) {
    const name = option.long?.slice(2);
    if (name === undefined) continue;
    const short = option.short?.slice(1);
    const placeholder = /[<[]([^>\].]*)/.exec(option.flags)?.[1];
    if (placeholder === undefined) target.option(name, option.description, short);
    else target.option(name, option.description, offer(placeholder, option), short);
  }
  for (const argument of command.registeredArguments) {
    target.argument(argument.name(), offer(argument.name(), argument), argument.variadic);
  }
  const subcommands = help.visibleCommands(command);
  const names = subcommands.map((subcommand) => subcommand.name());
  for (const subcommand of subcommands) {
    const words = `${path} ${subcommand.name()}`.trim();
    // commander does not declare that `gen3d help` takes the name of another command.
    if (subcommand.name() === 'help') root.command(words, '').argument('command', offer('', { argChoices: names }));
    else declare(root, subcommand, words, offer);
  }
}

const bundleCommands = new Set(['serve', 'worker', 'models', 'doctor']);

/** Lists the bundles that are installed or can be pulled. */
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
    // A shell shows no errors of completions.
    return {};
  }
}

/** Collects what the library prints. */
export function printedBy(work: () => void): string[] {
  const lines: string[] = [];
  const { log } = console;
  console.log = (line: unknown) => void lines.push(String(line));
  try {
    work();
  } finally {
    console.log = log;
  }
  return lines;
}
