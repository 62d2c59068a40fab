import type { Argument, Command, Option } from 'commander';
import { inheritedOptions } from '../terminal/help.js';

/** The kind of an argument or option, for shells to complete: not known, files, folders, or one of these words. */
export type Value = 'unknown' | 'files' | 'folders' | readonly string[];

export interface OptionSyntax {
  /** The flags that set this option, for example `-o` and `--output`. */
  readonly names: readonly string[];
  readonly description: string;
  /** Absent if the option takes no value. */
  readonly value?: Value;
}

/** Describes a command to the generators of completion scripts. */
export interface CommandSyntax {
  /** The words that lead to the command, for example `['admin', 'account', 'create']`. Empty for gen3d itself. */
  readonly path: readonly string[];
  readonly description: string;
  readonly options: readonly OptionSyntax[];
  readonly subcommands: readonly { readonly name: string; readonly description: string }[];
  readonly argument: Value;
}

/** Words for placeholders in the help, such as the names of bundles for `<bundle>`. */
export type KnownWords = Readonly<Record<string, readonly string[]>>;

/** Reads the syntax of a program and all its commands from commander. */
export function syntaxOf(command: Command, known: KnownWords = {}, path: readonly string[] = []): CommandSyntax[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command);
  const [argument] = command.registeredArguments;
  const syntax: CommandSyntax = {
    path,
    description: help.subcommandDescription(command),
    options: [...help.visibleOptions(command), ...inheritedOptions(command)].map((option) =>
      optionSyntax(option, known),
    ),
    subcommands: subcommands.map((subcommand) => ({
      name: subcommand.name(),
      description: help.subcommandDescription(subcommand),
    })),
    argument: argument ? possibleValues(argument.name(), argument, known) : [],
  };
  return [
    syntax,
    ...subcommands.flatMap((subcommand) =>
      subcommand.name() === 'help' ? [helpOf(syntax)] : syntaxOf(subcommand, known, [...path, subcommand.name()]),
    ),
  ];
}

/** Describes `gen3d help`, which takes the names of its sibling commands, because commander does not. */
const helpOf = ({ path, subcommands }: CommandSyntax): CommandSyntax => ({
  path: [...path, 'help'],
  description: '',
  options: [],
  subcommands: [],
  argument: subcommands.map(({ name }) => name),
});

const optionSyntax = (option: Option, known: KnownWords): OptionSyntax => {
  const names = [option.short, option.long].filter((name) => name !== undefined);
  const described = { names, description: option.description };
  if (!option.required && !option.optional) return described;
  return { ...described, value: possibleValues(/[<[]([^>\]]*)/.exec(option.flags)?.[1] ?? '', option, known) };
};

/** Returns the allowed words, or guesses from the placeholder in the help, such as `<file>` or `<dir>`. */
function possibleValues(name: string, { argChoices }: Pick<Option | Argument, 'argChoices'>, known: KnownWords): Value {
  const words = argChoices ?? known[name];
  if (words) return words;
  if (/^(dir|folder)/.test(name)) return 'folders';
  return /^(file|path|image|model|output)/.test(name) ? 'files' : 'unknown';
}

/** Lists all options that take a value. The word after one of them is not a command. */
export function namesWithValue(syntax: readonly CommandSyntax[]): string[] {
  const options = syntax.flatMap(({ options }) => options).filter(({ value }) => value !== undefined);
  return [...new Set(options.flatMap(({ names }) => names))];
}
