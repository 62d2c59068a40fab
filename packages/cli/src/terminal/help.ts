import { type Argument, type Command, Help, type HelpConfiguration, type Option } from 'commander';

/** Configures help without repetitions. The overview of all commands fits on one screen: 24 lines of 80 characters. */
export const helpConfiguration: HelpConfiguration = {
  formatHelp: (command, helper) => (command.parent ? commandHelp(command, helper) : overview(command, helper)),
  commandDescription: describeCommand,
  optionDescription: describeOption,
  argumentDescription: describeArgument,
  showGlobalOptions: true,
  // gen3d's own options would appear in the help of every command. A line below names them instead.
  visibleGlobalOptions: (command) =>
    inheritedOptions(command).filter((option) => !rootOf(command).options.includes(option)),
};

/** A command's summary is a phrase, and its description has sentences. */
export function describeCommand(command: Command): string {
  const text = command.description() || command.summary();
  const capital = text.slice(0, 1).toUpperCase() + text.slice(1);
  return /[.!?:]$/.test(text) || text.includes('\n') ? capital : `${capital}.`;
}

/** Describes an option as the help does, for example `the number of jobs, 1 to 100; default: 20`. */
export function describeOption(option: Option): string {
  const { required, defaultValue, defaultValueDescription } = option;
  const byDefault = defaultValueDescription ?? (required && defaultValue !== undefined ? String(defaultValue) : '');
  return `${describeArgument(option)}${byDefault && `; default: ${byDefault}`}`;
}

export function describeArgument({ description, argChoices }: Pick<Option | Argument, 'description' | 'argChoices'>) {
  return argChoices ? `${description}: ${argChoices.join(', ')}` : description;
}

/** Returns the options of the commands above a command, such as those of `admin` for `admin key list`. */
export const inheritedOptions = ({ parent }: Command): readonly Option[] =>
  parent ? [...parent.options.filter(({ hidden }) => !hidden), ...inheritedOptions(parent)] : [];

const rootOf = (command: Command): Command => (command.parent ? rootOf(command.parent) : command);

const commandHelp = (command: Command, helper: Help): string =>
  `${Help.prototype.formatHelp.call(helper, command, helper)}\n${commonOptions(rootOf(command))}\n`;

/** Lists options, except `--help` and `--version`, which users know. */
const commonOptions = ({ options }: Command): string =>
  `Options of every command: ${options.flatMap(({ required, flags }) => (required ? [flags] : [])).join(', ')}`;

/** Lists all commands, with the names of their groups in a column. */
function overview(program: Command, helper: Help): string {
  const commands = helper.visibleCommands(program).filter((command) => command.name() !== 'help');
  const rows: [string, string, string][] = commands.map((command, index) => {
    const group = command.helpGroup();
    const isFirst = group !== commands[index - 1]?.helpGroup();
    return [isFirst ? group : '', command.name(), helper.subcommandDescription(command)];
  });
  const groupWidth = Math.max(...rows.map(([group]) => group.length));
  const nameWidth = Math.max(...rows.map(([, name]) => name.length));
  return [
    program.description(),
    'Usage: gen3d COMMAND [options]; `gen3d COMMAND --help` explains a command.',
    ...rows.map(([group, name, text]) => `${group.padEnd(groupWidth)} ${name.padEnd(nameWidth)}  ${text}`),
    commonOptions(program),
    '',
  ].join('\n');
}
