import { spawnSync } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { discPng, workplace } from './run.js';

const { gen3d, path, run } = workplace();
beforeAll(async () => {
  await writeFile(path('my cup.png'), discPng());
  await mkdir(path('data-of-mine'));
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, stdout, stderr } = await gen3d(['completion', shell]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    await writeFile(path(`completion.${shell}`), stdout);
  }
});

const has = (shell: string) => {
  const there = spawnSync(shell, ['-c', 'exit 0']).status === 0;
  if (!there) console.warn(`SKIPPED: completions in ${shell}, which is not here`);
  return there;
};

/** What is asked of every shell: a command line up to the cursor, what must be offered, and what must not. */
const cases: [string, string, string[], string[]][] = [
  ['commands', 'gen3d ', ['create', 'watch', 'completion'], ['account']],
  ['commands by their beginning', 'gen3d do', ['download', 'doctor'], ['create']],
  ['options', 'gen3d create --', ['--wait', '--preview', '--api-key'], ['--status']],
  ['commands of commands', 'gen3d admin account ', ['create', 'credit'], ['serve']],
  ['options of a command whose name another has too', 'gen3d admin account create x --', ['--balance'], ['--wait']],
  ["the server's settings", 'gen3d serve --a', ['--allow-private-network', '--assets-url'], ['--wait']],
  ['the words that an option takes', 'gen3d list --status ', ['FAILED', 'CANCELED'], ['create']],
  ['the words after =', 'gen3d list --status=FA', ['FAILED'], ['CANCELED']],
  ['commands behind an option with a value', 'gen3d --base-url list mod', ['models'], []],
  ['folders for a folder', 'gen3d serve --data-dir data', ['data-of-mine'], ['my cup.png']],
  ['photos', 'gen3d create my', ['my cup.png'], []],
  ['the shells', 'gen3d completion ', ['bash', 'zsh', 'fish'], ['my cup.png']],
  ['commands to be helped with', 'gen3d help cre', ['create'], ['my cup.png']],
];

const ask: Record<string, (line: string) => Promise<string[]>> = {
  // As readline does it: words split at = too, and files where the function has nothing to say and lets it.
  async bash(line) {
    const program = `
      source completion.bash
      compopt() { [[ $* == *+o* ]] && files=no; }
      files=yes
      COMP_LINE=$1 COMP_POINT=\${#1} COMP_WORDS=("\${@:2}") COMP_CWORD=$(($# - 2))
      _gen3d gen3d "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD - 1]}"
      ((\${#COMPREPLY[@]})) && printf '%s\\n' "\${COMPREPLY[@]}"
      ((\${#COMPREPLY[@]} == 0)) && [[ $files == yes ]] && compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"
      exit 0`;
    const words = line.split(' ').flatMap((word) =>
      word
        .split(/(=)/)
        .filter(Boolean)
        .concat(word === '' ? [''] : []),
    );
    return (await run('bash', ['--norc', '-c', program, 'bash', line, ...words])).stdout.split('\n');
  },
  async fish(line) {
    const program = 'source completion.fish; complete --do-complete=$argv[1]';
    const { stdout } = await run('fish', ['--no-config', '-c', program, line]);
    return stdout.split('\n').map((offered) => (offered.split('\t')[0] ?? '').replace('--status=', ''));
  },
  // A real zsh at a terminal, whose compadd also writes down what it is given.
  async zsh(line) {
    await Promise.all(['offered', 'finished'].map((name) => rm(path(name), { force: true })));
    return (await run('zsh', ['-f', '-c', zshCapture, 'zsh', line])).stdout.split('\n');
  },
};

const zshCapture = String.raw`
  zmodload zsh/zpty || exit 9
  zpty shell zsh -f -i
  zpty -w shell "cd ${'$'}{(q)PWD}; autoload -Uz compinit; compinit -u -D; source completion.zsh; unset zle_bracketed_paste"
  zpty -w shell 'compadd() {
    local -a found
    if [[ ${'$'}{@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
      builtin compadd -O found "$@"
      print -rl -- $found >> offered
    fi
    builtin compadd "$@"
  }'
  zpty -w shell 'bindkey "^I" complete-word; LISTMAX=10000'
  zpty -w shell 'finish() { : > finished; exit }; zle -N finish; bindkey "^X" finish'
  zpty -n -w shell "$1"$'\t\x18'
  until [[ -e finished ]]; do zpty -t shell && zpty -r shell seen; sleep 0.02; done
  cat offered`;

/** As a person reads it: shells quote spaces, and show a folder with a slash. */
const plain = (offered: string) => offered.trim().replaceAll('\\', '').replace(/\/$/, '');

describe.each(['bash', 'zsh', 'fish'])('in %s', (shell) => {
  describe.skipIf(!has(shell))('offered are', () => {
    test.each(cases)('%s', async (_, line, wanted, unwanted) => {
      const offered = (await ask[shell]!(line)).map(plain);
      expect(offered).toEqual(expect.arrayContaining(wanted));
      for (const one of unwanted) expect(offered).not.toContain(one);
    });
  });
});
