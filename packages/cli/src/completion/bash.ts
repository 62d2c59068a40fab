import { type CommandSyntax, namesWithValue, type Value } from './syntax.js';

/** Writes a completion script for bash 3.2 (the version of macOS) and later. */
export function bashCompletion(name: string, syntax: readonly CommandSyntax[]): string {
  const commands = syntax.filter(({ path }) => path.length > 0).map(({ path }) => `'${path.join(' ')}'`);
  const argumentOffers = new Map<string, string[]>();
  const valueOffers = new Map<string, string[]>();
  for (const { path, options, subcommands, argument } of syntax) {
    const command = path.join(' ');
    const argumentValue = subcommands.length > 0 ? subcommands.map((subcommand) => subcommand.name) : argument;
    add(argumentOffers, offer(name, argumentValue), command);
    for (const { names, value } of options) {
      if (value === undefined) continue;
      for (const option of names) add(valueOffers, offer(name, value), [...path, option].join(' '));
    }
  }
  const options = syntax.map(
    ({ path, options }) =>
      `      ${quoted(path.join(' '))}) words=${quoted(options.flatMap(({ names }) => names).join(' '))} ;;`,
  );
  return `# ${name} completion bash: add  eval "$(${name} completion bash)"  to ~/.bashrc
_${name}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} command='' next words index=1
  # bash splits --status=FAILED into three words
  if [[ $cur == = ]]; then cur=''; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  while ((index < COMP_CWORD)); do
    case \${COMP_WORDS[index]} in
      ${namesWithValue(syntax).join('|')}) ((index += 2)); continue ;;
    esac
    next="\${command:+$command }\${COMP_WORDS[index]}"
    case $next in
      ${commands.join('|')}) command=$next ;;
    esac
    ((index += 1))
  done
  COMPREPLY=()
  case "\${command:+$command }$prev" in
${cases(valueOffers, '; return')}
  esac
  if [[ $cur == -* ]]; then
    words=''
    case $command in
${options.join('\n')}
    esac
    _${name}_words "$words"
    return
  fi
  case $command in
${cases(argumentOffers)}
  esac
}
_${name}_words() {
  # Prevents bash from also offering files. bash 3.2 has no compopt and offers them.
  compopt +o bashdefault +o default 2>/dev/null
  COMPREPLY=($(compgen -W "$1" -- "$cur"))
}
_${name}_folders() {
  compopt -o filenames 2>/dev/null
  local IFS=$'\\n'
  COMPREPLY=($(compgen -d -- "$cur"))
}
complete -o bashdefault -o default -F _${name} ${name}
`;
}

function offer(name: string, value: Value): string {
  // Without results, bash itself offers files and quotes their names.
  if (value === 'files') return ':';
  if (value === 'folders') return `_${name}_folders`;
  return `_${name}_words ${quoted(value === 'unknown' ? '' : value.join(' '))}`;
}

/** Groups positions with the same offer, to keep the script short: shells read it on every start. */
function add(offers: Map<string, string[]>, offer: string, position: string): void {
  offers.set(offer, [...(offers.get(offer) ?? []), quoted(position)]);
}

const cases = (offers: ReadonlyMap<string, readonly string[]>, suffix = '') =>
  [...offers].map(([offer, positions]) => `    ${positions.join('|')}) ${offer}${suffix} ;;`).join('\n');

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
