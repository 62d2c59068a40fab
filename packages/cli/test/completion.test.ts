import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { beforeAll, describe, expect, test } from 'vitest';
import { completeProgram } from '../src/program.js';
import { inheritedOptions } from '../src/terminal/help.js';
import { bin, discPng, testFolder } from './run.js';

const allCommands = (command: Command): Command[] => [command, ...command.commands.flatMap(allCommands)];
const pathOf = (command: Command): string => `${command.parent ? `${pathOf(command.parent)} ` : ''}${command.name()}`;

test('the overview of all commands fits on a screen of 24 lines with 80 characters', async () => {
  const gen3d = await completeProgram();
  const lines = gen3d.helpInformation().trimEnd().split('\n');
  expect(lines.length).toBeLessThan(24);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  const names = gen3d
    .createHelp()
    .visibleCommands(gen3d)
    .map((command) => command.name());
  for (const name of names.filter((one) => one !== 'help')) {
    expect(lines.some((line) => line.includes(` ${name} `))).toBe(true);
  }
});

test('every command, argument and option has a description, which its help shows', async () => {
  for (const command of allCommands(await completeProgram())) {
    const help = command.helpInformation().replace(/\s+/g, ' ');
    const texts = [command, ...command.registeredArguments, ...command.options, ...inheritedOptions(command)];
    for (const one of texts) {
      const description = 'summary' in one ? one.summary() || one.description() : one.description;
      expect(description, `${pathOf(command)}: ${one.name()}`).not.toBe('');
    }
    if (!command.parent) continue;
    for (const { description } of [...command.registeredArguments, ...command.options]) {
      expect(help, pathOf(command)).toContain(description.replace(/\s+/g, ' '));
    }
  }
});

test('the help of a command lists the values and the default of its options', async () => {
  const serve = (await completeProgram()).commands.find((command) => command.name() === 'serve');
  const help = serve?.helpInformation().replace(/\s+/g, ' ');
  expect(help).toContain('(GEN3D_PORT); default: 8787 ');
  expect(help).toContain('(GEN3D_DEVICE): auto, cpu, webgpu, cuda, coreml, dml; default: auto ');
  expect(help).toContain('(GEN3D_RATE_LIMIT); default: 50:100 ');
});

const { gen3d, path, run } = testFolder();
beforeAll(async () => {
  await writeFile(path('my cup.png'), discPng());
  await mkdir(path('data-of-mine'));
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, stdout, stderr } = await gen3d(['completion', shell]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    await writeFile(path(`completion.${shell}`), stdout);
  }
});

const isInstalled = (shell: string) => {
  const installed = spawnSync(shell, ['-c', 'exit 0']).status === 0;
  if (!installed) console.warn(`SKIPPED: completion in ${shell}, which is not installed`);
  return installed;
};

/** The scripts run `gen3d`, which is a function of the shells here. */
const command = `'${process.execPath}' '${bin}'`;

/** The words up to the cursor, the required completions, and the forbidden ones. `:0` offers files, `:16` folders. */
const cases: [string, string, string[], string[]][] = [
  ['commands', '', ['create', 'watch', 'completion'], ['account']],
  ['options', 'create --', ['--wait', '--open', '--api-key'], ['--status']],
  ['subcommands', 'admin account ', ['create', 'credit'], ['serve']],
  ['options of a subcommand with the name of another command', 'admin account create x --', ['--balance'], ['--wait']],
  ['server settings', 'serve --a', ['--allow-private-network', '--assets-url'], ['--wait']],
  ['values of an option', 'list --status ', ['FAILED', 'CANCELED'], ['create']],
  ['commands after an option with a value', '--base-url list mod', ['models'], []],
  ['output files', 'create x.png --wait -o my', [':0'], []],
  ['models to convert', 'convert my', [':0'], []],
  ['bundles to verify', 'models verify gen', ['gen3d-base'], []],
  ['bundles', 'serve --bundle ', ['gen3d-base', 'inflate', 'triposr'], [':0']],
  ['bundles to use', 'models use gen', ['gen3d-base'], []],
  ['shells', 'completion ', ['bash', 'zsh', 'fish'], [':0']],
  ['arguments of help', 'help cre', ['create'], [':0']],
];

test.each(cases)('completes %s', async (_, line, required, forbidden) => {
  const { stdout } = await gen3d(['complete', '--', ...line.split(' ')]);
  const completions = stdout.split('\n').map((offered) => offered.split('\t')[0]);
  expect(completions).toEqual(expect.arrayContaining(required));
  for (const word of forbidden) expect(completions).not.toContain(word);
});

/** Completions by the shells' scripts: the command line up to the cursor, what is required, and what is forbidden. */
const casesOfShells: typeof cases = [
  ['commands with a prefix', 'gen3d do', ['download', 'doctor'], ['create']],
  ['values after =', 'gen3d list --status=FA', ['FAILED'], ['CANCELED']],
  ['folders', 'gen3d serve --data-dir data', ['data-of-mine'], ['my cup.png']],
  ['photos', 'gen3d create my', ['my cup.png'], []],
];

const complete: Record<string, (line: string) => Promise<string[]>> = {
  // Like readline, splits words at = and offers files if the function returns nothing and allows it.
  async bash(line) {
    const program = `
      gen3d() { ${command} "$@"; }
      source completion.bash
      compopt() { [[ $* == *+o* ]] && files=no; }
      files=yes
      COMP_LINE=$1 COMP_POINT=\${#1} COMP_WORDS=("\${@:2}") COMP_CWORD=$(($# - 2))
      _gen3d
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
    const program = `function gen3d; ${command} $argv; end; source completion.fish; complete --do-complete=$argv[1]`;
    const { stdout } = await run('fish', ['--no-config', '-c', program, line]);
    return stdout.split('\n').map((offered) => (offered.split('\t')[0] ?? '').replace('--status=', ''));
  },
  // Runs zsh on a pseudo-terminal, with a compadd that also records the completions.
  async zsh(line) {
    await Promise.all(['offered', 'finished'].map((name) => rm(path(name), { force: true })));
    return (await run('zsh', ['-f', '-c', zshCapture, 'zsh', line, command])).stdout.split('\n');
  },
};

const zshCapture = String.raw`
  zmodload zsh/zpty || exit 9
  zpty shell zsh -f -i
  zpty -w shell "cd ${'$'}{(q)PWD}; autoload -Uz compinit; compinit -u -D; gen3d() { $2 \"\$@\" }; source completion.zsh; unset zle_bracketed_paste"
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

/** Removes the quoting of spaces and the slash of folders. */
const plain = (offered: string) => offered.trim().replaceAll('\\', '').replace(/\/$/, '');

test.skipIf(!isInstalled('bash'))('bash does not evaluate the words before the cursor', async () => {
  await writeFile(path('precious'), 'content');
  await complete.bash!('gen3d list > precious ');
  await complete.bash!('gen3d create $(>evil) ');
  expect(await readFile(path('precious'), 'utf8')).toBe('content');
  expect(existsSync(path('evil'))).toBe(false);
});

describe.each(['bash', 'zsh', 'fish'])('%s', (shell) => {
  test.skipIf(!isInstalled(shell)).each(casesOfShells)('completes %s', async (_, line, required, forbidden) => {
    const completions = (await complete[shell]!(line)).map(plain);
    expect(completions).toEqual(expect.arrayContaining(required));
    for (const word of forbidden) expect(completions).not.toContain(word);
  });
});
