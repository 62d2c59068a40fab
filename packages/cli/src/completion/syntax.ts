import type { Argument, Command, Option } from 'commander';

/** What may stand in one place: nothing that a shell could know, files, folders, or one of these words. */
export type Value = 'unknown' | 'files' | 'folders' | readonly string[];

export interface OptionSyntax {
  /** `-o` and `--output`, as they are typed. */
  readonly names: readonly string[];
  readonly description: string;
  /** Absent where the option stands alone. */
  readonly value?: Value;
}

/** One command as a shell has to know it. */
export interface CommandSyntax {
  /** The words that lead to it: `['admin', 'account', 'create']`; empty for gen3d itself. */
  readonly path: readonly string[];
  readonly description: string;
  readonly options: readonly OptionSyntax[];
  readonly subcommands: readonly { readonly name: string; readonly description: string }[];
  /** What its first argument may be, and all that follow. */
  readonly argument: Value;
}

/** A program and all commands below it, as they describe themselves to commander. */
export function syntaxOf(command: Command, path: readonly string[] = []): CommandSyntax[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command);
  const [argument] = command.registeredArguments;
  const own: CommandSyntax = {
    path,
    description: help.subcommandDescription(command),
    options: [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)].map(optionSyntax),
    subcommands: subcommands.map((one) => ({ name: one.name(), description: help.subcommandDescription(one) })),
    argument: argument ? whatFits(argument.name(), argument) : [],
  };
  return [
    own,
    ...subcommands.flatMap((one) => (one.name() === 'help' ? [helpOf(own)] : syntaxOf(one, [...path, one.name()]))),
  ];
}

/** `gen3d help create`: it takes its siblings' names, of which commander's own description knows nothing. */
const helpOf = ({ path, subcommands }: CommandSyntax): CommandSyntax => ({
  path: [...path, 'help'],
  description: '',
  options: [],
  subcommands: [],
  argument: subcommands.map(({ name }) => name),
});

const optionSyntax = (option: Option): OptionSyntax => {
  const names = [option.short, option.long].filter((name) => name !== undefined);
  const described = { names, description: option.description };
  if (!option.required && !option.optional) return described;
  return { ...described, value: whatFits(/[<[]([^>\]]*)/.exec(option.flags)?.[1] ?? '', option) };
};

/** By the words that are allowed, else by the name that the help gives it: `<file>`, `<dir>`, `<pretty|json>`. */
function whatFits(name: string, { argChoices }: Pick<Option | Argument, 'argChoices'>): Value {
  if (argChoices) return argChoices;
  if (name.includes('|')) return name.split('|');
  if (/^(dir|folder)/.test(name)) return 'folders';
  return /^(file|path|image)/.test(name) ? 'files' : 'unknown';
}

/** Every option that takes a value, in any command: the word after it is no command. */
export function namesWithValue(syntax: readonly CommandSyntax[]): string[] {
  const options = syntax.flatMap(({ options }) => options).filter(({ value }) => value !== undefined);
  return [...new Set(options.flatMap(({ names }) => names))];
}
