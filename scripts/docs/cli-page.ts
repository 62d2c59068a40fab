import type { Argument, Command, Option } from 'commander';
import { exitCode } from '../../packages/cli/src/exit/failure.js';
import { completeProgram } from '../../packages/cli/src/program.js';
import { describeArgument, describeCommand, describeOption } from '../../packages/cli/src/terminal/help.js';
import { code, page, table, withUrlsAsCode } from './markdown.js';

const exitCodes: Record<keyof typeof exitCode, string> = {
  done: 'done',
  failed: 'the job failed, or the server refused the request',
  usage: 'bad usage: nothing was sent',
  unreachable: 'the server cannot be reached',
  unauthorized: 'not authorized',
  interrupted: 'interrupted',
};

/** docs/cli.md: every command with its arguments and options, as `--help` has them. */
export async function cliPage(): Promise<string> {
  const gen3d = await completeProgram();
  const sections = listed(gen3d).flatMap((command) => sectionsOf(command, 2));
  return page('packages/cli/src/program.ts', [
    '# Command line',
    `${gen3d.description()} \`gen3d --help\` and \`gen3d COMMAND --help\` print the same texts.`,
    'Results go to stdout, everything else to stderr. Spinners and colors appear in a terminal only. `--json` prints the object of the API as it is.',
    '## Options of every command',
    optionTable(gen3d),
    'Without these options, the command uses the profile that `gen3d login` or the first `gen3d serve` on this machine has saved.',
    'If no server runs on this machine, a command says so at once. It waits for a server that is starting; `create` and `watch` also wait 5 seconds for one that is started at the same moment.',
    'Requests go directly to the server. To use `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, also set `NODE_USE_ENV_PROXY=1` (in Node 22.21, 24.5 or later) and, for a server on this machine, `NO_PROXY=127.0.0.1`. `gen3d models pull` needs no `NODE_USE_ENV_PROXY`.',
    table(
      ['Exit code', 'Meaning'],
      Object.entries(exitCode).map(([name, number]) => [String(number), exitCodes[name as keyof typeof exitCode]]),
    ),
    ...sections,
  ]);
}

const listed = (command: Command) => command.commands.filter((one) => one.name() !== 'help' && !isHidden(one));

// Commander has no public accessor for it.
const isHidden = (command: Command) => (command as Command & { _hidden?: boolean })._hidden === true;

function sectionsOf(command: Command, level: number): string[] {
  const subcommands = listed(command);
  return [
    `${'#'.repeat(level)} ${nameOf(command)}`,
    ...sentences(describeCommand(command)),
    ...(subcommands.length > 0 ? [] : [code(usage(command))]),
    ...(command.registeredArguments.some(({ description }) => description)
      ? [
          table(
            ['Argument', 'Meaning'],
            command.registeredArguments.map((one) => [code(argument(one)), describeArgument(one)]),
          ),
        ]
      : []),
    ...(optionsOf(command).length > 0 ? [optionTable(command)] : []),
    ...(subcommands.length > 0 && optionsOf(command).length > 0 ? ['All subcommands have these options.'] : []),
    ...subcommands.flatMap((one) => sectionsOf(one, level + 1)),
  ].filter(Boolean);
}

const nameOf = (command: Command): string =>
  command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();

function usage(command: Command): string {
  const options = optionsOf(command).length > 0 ? ['[options]'] : [];
  return [nameOf(command), ...command.registeredArguments.map(argument), ...options].join(' ');
}

function argument(one: Argument): string {
  const name = one.variadic ? `${one.name()}...` : one.name();
  return one.required ? `<${name}>` : `[${name}]`;
}

const optionsOf = (command: Command): readonly Option[] => command.options.filter((option) => !option.hidden);

function optionTable(command: Command): string {
  return table(
    ['Option', 'Meaning'],
    optionsOf(command).map((option) => [code(option.flags), withUrlsAsCode(describeOption(option))]),
  );
}

/** A description as Markdown. Indented lines are commands, and become a code block. */
function sentences(text: string): string[] {
  const lines = text.trim().split('\n');
  const prose = lines.filter((line) => !line.startsWith('  ')).join('\n');
  const commands = lines.filter((line) => line.startsWith('  ')).map((line) => line.slice(2));
  return [prose, ...(commands.length > 0 ? [`\`\`\`text\n${commands.join('\n')}\n\`\`\``] : [])];
}
