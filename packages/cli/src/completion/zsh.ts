import type { CommandSyntax, OptionSyntax, Value } from './syntax.js';

/** A completion script for zsh 5 and later, to be sourced, or kept as `_gen3d` in a folder of $fpath. */
export function zshCompletion(name: string, syntax: readonly CommandSyntax[]): string {
  return `#compdef ${name}
# ${name} completion zsh: put  eval "$(${name} completion zsh)"  into ~/.zshrc, after compinit
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
    const places = argument.length === 0 ? [] : [quoted(`*:argument:${action(argument)}`)];
    return `${functionName}() {
  _arguments -s ${[...specifications, ...places].join(' \\\n    ')}
}`;
  }
  const described = subcommands.map((one) => quoted(`${one.name}:${one.description}`));
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
        ${subcommands.map((one) => `${one.name}) ${functionName}_${one.name} ;;`).join('\n        ')}
      esac ;;
  esac
}`;
}

/** One for each name: `'(-o --output)-o[what it does]:value:_files'`. */
function optionSpecifications({ names, description, value }: OptionSyntax): string[] {
  const text = description.replace(/[[\]\\:]/g, '\\$&');
  const excluded = names.length > 1 ? `(${names.join(' ')})` : '';
  return names.map((one) => {
    // --name=value too, not for -n.
    const joint = value !== undefined && one.startsWith('--') ? '=' : '';
    return quoted(`${excluded}${one}${joint}[${text}]${value === undefined ? '' : `:value:${action(value)}`}`);
  });
}

function action(value: Value): string {
  if (value === 'files') return '_files';
  if (value === 'folders') return '_files -/';
  return value === 'unknown' ? ' ' : `(${value.join(' ')})`;
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
