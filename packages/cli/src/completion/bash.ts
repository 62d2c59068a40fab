import { type CommandSyntax, namesWithValue, type Value } from './syntax.js';

/** A completion script for bash 3.2, which macOS has, and later. */
export function bashCompletion(name: string, syntax: readonly CommandSyntax[]): string {
  const commands = syntax.filter(({ path }) => path.length > 0).map(({ path }) => `'${path.join(' ')}'`);
  const places = new Map<string, string[]>();
  const values = new Map<string, string[]>();
  for (const { path, options, subcommands, argument } of syntax) {
    const here = path.join(' ');
    add(places, offer(name, subcommands.length > 0 ? subcommands.map((one) => one.name) : argument), here);
    for (const { names, value } of options) {
      if (value === undefined) continue;
      for (const one of names) add(values, offer(name, value), [...path, one].join(' '));
    }
  }
  const options = syntax.map(
    ({ path, options }) =>
      `      ${quoted(path.join(' '))}) words=${quoted(options.flatMap(({ names }) => names).join(' '))} ;;`,
  );
  return `# ${name} completion bash: put  eval "$(${name} completion bash)"  into ~/.bashrc
_${name}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} command='' next words index=1
  # bash makes three words of --status=FAILED
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
${cases(values, '; return')}
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
${cases(places)}
  esac
}
_${name}_words() {
  # Without this, bash would offer files where none are meant; 3.2 has no compopt and does.
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
  // An empty answer makes bash offer files by itself, and quote what is odd in their names.
  if (value === 'files') return ':';
  if (value === 'folders') return `_${name}_folders`;
  return `_${name}_words ${quoted(value === 'unknown' ? '' : value.join(' '))}`;
}

/** Keeps together what is offered in several places: the script is read at every start of a shell. */
function add(places: Map<string, string[]>, offered: string, place: string): void {
  const others = places.get(offered);
  if (others) others.push(quoted(place));
  else places.set(offered, [quoted(place)]);
}

const cases = (places: ReadonlyMap<string, readonly string[]>, after = '') =>
  [...places].map(([offered, where]) => `    ${where.join('|')}) ${offered}${after} ;;`).join('\n');

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
