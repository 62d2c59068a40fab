/**
 * Writes a completion script for bash 3.2 (the version of macOS) and later. The one of `@bomb.sh/tab` requires the
 * package bash-completion, never offers files, and evaluates the typed words: a tab after `> FILE` empties that file.
 */
export const bashScript = (name: string): string => `# add  eval "$(${name} completion bash)"  to ~/.bashrc
_${name}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} line directive=0 IFS=$'\\n'
  # bash splits --status=FAILED into three words
  [[ $cur == = ]] && cur=''
  COMPREPLY=()
  while read -r line; do
    case $line in
      :*) directive=\${line#:} ;;
      "$cur"*) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <(${name} complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if ((directive & 16)); then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -d -- "$cur"))
  elif ((directive & 4)); then
    # bash 3.2 has no compopt and offers files
    compopt +o bashdefault +o default 2>/dev/null
  fi
}
complete -o bashdefault -o default -F _${name} ${name}
`;
