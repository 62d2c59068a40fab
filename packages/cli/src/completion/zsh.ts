import type { CommandSyntax, OptionSyntax, Value } from './syntax.js';

/** Writes a completion script for zsh 5 and later. It can be sourced, or stored as `_gen3d` in a folder of $fpath. */
export function zshCompletion(name: string, syntax: readonly CommandSyntax[]): string {
  return `#compdef ${name}
# ${name} completion zsh: add  eval "$(${name} completion zsh)"  to ~/.zshrc, after compinit
${syntax.map((command) => commandFunction(name, command)).join('\n')}
if [[ $funcstack[1] == _${name} ]]; then
  _${name} "$@"
else
  compdef _${name} ${name}
fi
`;
}

function commandFunction(name: string, { path, options, subcommands, argument }: CommandSyntax): string {
  const functionName = ['', name, ...path].join('_');
  const specifications = options.flatMap(optionSpecifications);
  if (subcommands.length === 0) {
    const positional = argument.length === 0 ? [] : [quoted(`*:argument:${action(argument)}`)];
    return `${functionName}() {
  _arguments -s ${[...specifications, ...positional].join(' \\\n    ')}
}`;
  }
  const described = subcommands.map(({ name, description }) => quoted(`${name}:${description}`));
  return `${functionName}() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  _arguments -s -C ${[...specifications, "'1: :->command'", "'*:: :->rest'"].join(' \\\n    ')}
  case $state in
    command)
      local -a commands=(
        ${described.join('\n        ')}
      )
      _describe -t commands command commands ;;
    rest)
      case $line[1] in
        ${subcommands.map(({ name }) => `${name}) ${functionName}_${name} ;;`).join('\n        ')}
      esac ;;
  esac
}`;
}

/** Writes one specification per name, such as `'(-o --output)-o[description]:value:_files'`. */
function optionSpecifications({ names, description, value }: OptionSyntax): string[] {
  const text = description.replace(/[[\]\\:]/g, '\\$&');
  const excluded = names.length > 1 ? `(${names.join(' ')})` : '';
  return names.map((option) => {
    // Long options also accept --name=value.
    const separator = value !== undefined && option.startsWith('--') ? '=' : '';
    return quoted(`${excluded}${option}${separator}[${text}]${value === undefined ? '' : `:value:${action(value)}`}`);
  });
}

function action(value: Value): string {
  if (value === 'files') return '_files';
  if (value === 'folders') return '_files -/';
  return value === 'unknown' ? ' ' : `(${value.join(' ')})`;
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
