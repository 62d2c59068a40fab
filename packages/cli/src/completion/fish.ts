import { type CommandSyntax, namesWithValue, type OptionSyntax, type Value } from './syntax.js';

/** Writes a completion script for fish 3 and later. */
export function fishCompletion(name: string, syntax: readonly CommandSyntax[]): string {
  const commands = syntax.filter(({ path }) => path.length > 0).map(({ path }) => quoted(path.join(' ')));
  const lines = syntax.flatMap(({ path, options, subcommands, argument }) => {
    const complete = `complete -c ${name} -n ${quoted(`__${name}_at ${quoted(path.join(' '))}`)}`;
    return [
      ...subcommands.map(
        (subcommand) => `${complete} -a ${quoted(subcommand.name)} -d ${quoted(subcommand.description)}`,
      ),
      ...options.map((option) => `${complete} ${flags(option)} -d ${quoted(option.description)}`),
      ...(subcommands.length === 0 ? [`${complete} ${offer(argument)}`] : []),
    ];
  });
  return `# ${name} completion fish: add  ${name} completion fish | source  to ~/.config/fish/config.fish
function __${name}_at -d 'Whether this is the current command'
    set -l typed (commandline -opc)
    set -l command ''
    set -l skip no
    for word in $typed[2..-1]
        if test $skip = yes
            set skip no
            continue
        end
        if contains -- $word ${namesWithValue(syntax).join(' ')}
            set skip yes
            continue
        end
        set -l next (string trim -- "$command $word")
        if contains -- $next ${commands.join(' ')}
            set command $next
        end
    end
    test "$command" = "$argv[1]"
end
complete -c ${name} -f
${lines.join('\n')}
`;
}

function flags({ names, value }: OptionSyntax): string {
  const spellings = names.map((option) =>
    option.startsWith('--') ? `-l ${option.slice(2)}` : `-s ${option.slice(1)}`,
  );
  return [...spellings, ...(value === undefined ? [] : ['-r', offer(value)])].join(' ');
}

function offer(value: Value): string {
  if (value === 'files') return '-F';
  if (value === 'folders') return "-f -a '(__fish_complete_directories)'";
  return value === 'unknown' || value.length === 0 ? '-f' : `-f -a ${quoted(value.join(' '))}`;
}

const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
