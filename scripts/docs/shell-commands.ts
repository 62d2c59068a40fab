import type { Command, CommanderError } from 'commander';
import { type ParseEntry, parse } from 'shell-quote';
import { program } from '../../packages/cli/src/program.js';

/** Words of one simple command, such as `['gen3d', 'list', '--json']`. Variables are not expanded. */
export type Words = readonly string[];

const redirections = new Set(['>', '>>', '<', '>&', '<&', '>|', '<<<']);
const commandPrefixes = new Set([
  'do',
  'then',
  'else',
  'if',
  'elif',
  'while',
  'until',
  '!',
  'time',
  'exec',
  'env',
  'nohup',
  '{',
]);

/**
 * The simple commands of a shell script, including those in pipelines, lists and `$(...)`. Covers the grammar that our
 * documentation uses; `bash -n` checks the syntax.
 */
export function commandsIn(script: string): Words[] {
  const withoutHereDocuments = script.replace(/<<-?\s*(['"]?)(\w+)\1([^\n]*)\n[\s\S]*?^\s*\2$/gm, '$3');
  return withoutHereDocuments
    .replace(/\\\n\s*/g, ' ')
    .split('\n')
    .flatMap(commandsOfLine);
}

function commandsOfLine(line: string): Words[] {
  const inner: Words[] = [];
  const outer = line.replace(/\$\(([^()]*)\)/g, (_, command: string) => {
    inner.push(...commandsOfLine(command));
    return '$SUBSTITUTED';
  });
  const commands: string[][] = [[]];
  let skipNext = false;
  for (const entry of parse(outer, (name) => `$${name}`)) {
    const word = wordOf(entry);
    if (skipNext) {
      skipNext = false;
    } else if (word !== undefined) {
      commands.at(-1)?.push(word);
    } else if ('op' in (entry as object) && redirections.has((entry as { op: string }).op)) {
      // The parser returns the 2 of `2> file` as a separate word.
      if (/^\d$/.test(commands.at(-1)?.at(-1) ?? '')) commands.at(-1)?.pop();
      skipNext = true;
    } else {
      commands.push([]);
    }
  }
  return [...inner, ...commands.map(withoutPrefix).filter(({ length }) => length > 0)];
}

function wordOf(entry: ParseEntry): string | undefined {
  if (typeof entry === 'string') return entry;
  return 'op' in entry && entry.op === 'glob' ? entry.pattern : undefined;
}

function withoutPrefix(words: string[]): string[] {
  const [first, ...rest] = words;
  if (first === undefined) return [];
  if (commandPrefixes.has(first) || /^\w+=/.test(first)) return withoutPrefix(rest);
  if (first === 'sudo') return withoutPrefix(rest[0] === '-u' ? rest.slice(2) : rest);
  return words;
}

/** Why the command line refuses these arguments, or undefined if it accepts them. */
export async function refusalOf(args: readonly string[]): Promise<CommanderError | undefined> {
  try {
    await withoutActions(program()).parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return error.exitCode === 0 ? undefined : error;
  }
}

/** Replaces all actions and output, so that only errors remain. */
function withoutActions(gen3d: Command): Command {
  for (const command of withSubcommands(gen3d)) {
    command.exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} });
    if (command.commands.length === 0) command.action(() => {});
  }
  return gen3d;
}

const withSubcommands = (command: Command): Command[] => [command, ...command.commands.flatMap(withSubcommands)];

// Checks the name because commander's class cannot be imported here: it is a dependency of packages/cli only.
const isRefusal = (error: unknown): error is CommanderError =>
  error instanceof Error && error.name === 'CommanderError' && 'exitCode' in error;
