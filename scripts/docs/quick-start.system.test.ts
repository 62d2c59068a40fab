import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../packages/engine/src/temporary-folder.fixture.js';
import { publicTestKey } from '../../packages/schema/src/index.js';
import { type Block, pages, root } from './markdown.js';
import { commandsIn } from './shell-commands.js';

const address = 'http://127.0.0.1:8787';

// Runs the commands of README.md and docs/getting-started.md in a shell, in a temporary folder. Only the port, the folders,
// and values that a user copies from an earlier output are replaced.
const folder = temporaryFolder(afterAll);
const work = join(folder, 'work');
const environment: NodeJS.ProcessEnv = {
  PATH: process.env.PATH,
  HOME: folder,
  GEN3D_CONFIG_DIR: join(folder, 'config'),
  GEN3D_DATA_DIR: join(folder, 'data'),
  GEN3D_PORT: '0',
  // The quality of the model does not matter here.
  GEN3D_RESOLUTION: '32',
  GEN3D_TEXTURE_SIZE: '256',
};
/** Makes jobs finish immediately. One job runs for real, which is enough. */
const withTestKey = { GEN3D_API_KEY: publicTestKey };
let server: ChildProcess;
let url = '';
let serverOutput = '';
let apiKey = '';

const readme = blocksOf('README.md');
const gettingStarted = blocksOf('docs/getting-started.md');
const aliasLine = lineWith(readme, 'alias');

beforeAll(async () => {
  mkdirSync(work);
  // Small enough for the public test key.
  copyFileSync(join(root, 'examples/photos/painted-chair.jpg'), join(work, 'mug.jpg'));
  const line = lineWith(readme, 'gen3d', 'serve');
  expect(line).toBe(lineWith(gettingStarted, 'gen3d', 'serve'));
  server = start(line);
  server.stderr?.on('data', (chunk) => {
    serverOutput += chunk;
  });
  url = await new Promise<string>((resolve, reject) => {
    let printed = '';
    server.stdout?.on('data', (chunk) => {
      printed += chunk;
      const [, found] = /listening on (\S+)\n/.exec(printed) ?? [];
      if (found) resolve(found);
    });
    server.once('close', () => reject(new Error(`gen3d serve ended: ${serverOutput}`)));
  });
});

afterAll(async () => {
  const ended = new Promise((resolve) => server.once('close', resolve));
  // Kill the whole process group, since the server is a child of the shell.
  if (server.pid !== undefined && server.exitCode === null) {
    process.kill(-server.pid, 'SIGTERM');
    await ended;
  }
});

describe('the quick start of README.md and docs/getting-started.md', () => {
  test('both define the same alias', () => {
    expect(lineWith(gettingStarted, 'alias')).toBe(aliasLine);
  });

  test('without a terminal, the first start prints the commands for a key and for a link that opens the dashboard', async () => {
    expect(serverOutput).not.toMatch(/gen3d_[\w-]{32}/);
    const [keyCommand = ''] = /gen3d admin key create default/.exec(serverOutput) ?? [];
    apiKey = run(keyCommand).stdout.trim();
    expect(apiKey).toMatch(/^gen3d_[\w-]{32,}$/);
    const [command = ''] = /gen3d admin sign-in-link/.exec(serverOutput) ?? [];
    const [link = ''] = /http\S+/.exec(run(command).stdout) ?? [];
    expect((await fetch(link, { headers: { accept: 'text/html' } })).status).toBe(200);
  });

  test('gen3d create mug.jpg --wait writes mug.glb next to mug.jpg, without a key', () => {
    const line = lineWith(readme, 'gen3d', 'create', 'mug.jpg');
    expect(line).toBe(lineWith(gettingStarted, 'gen3d', 'create', 'mug.jpg'));
    expect(run(line).stdout).toBe('mug.glb\n');
    expect(readFileSync(join(work, 'mug.glb')).subarray(0, 4).toString()).toBe('glTF');
  });

  test('the line for several photos writes into a folder', () => {
    run(lineWith(readme, 'gen3d', 'create', '*.jpg'), withTestKey);
    expect(existsSync(join(work, 'models/mug.glb'))).toBe(true);
  });

  test('the TypeScript programs write the model and show the progress', () => {
    for (const page of [readme, gettingStarted]) {
      rmSync(join(work, 'mug.glb'), { force: true });
      const program = page.find(({ text }) => text.includes('gen3d.generate('))?.text ?? '';
      expect(program).toContain(address);
      const { outputText } = ts.transpileModule(program.replace(address, url), {
        compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
      });
      writeFileSync(join(work, 'program.mjs'), outputText);
      link('node_modules/@gen3d/sdk', 'packages/sdk');
      expect(run('node program.mjs', withTestKey).stdout).toContain('100 %\n');
      expect(existsSync(join(work, 'mug.glb'))).toBe(true);
    }
  });

  test.skipIf(spawnSync('curl', ['--version']).status !== 0)('the curl calls create a job and show it', () => {
    const script = blockWith(readme, 'curl ').split('\n');
    const read = script.pop() ?? '';
    const key = { GEN3D_API_KEY: apiKey };
    const { job_id } = JSON.parse(run(onServer(script.join('\n')), key).stdout);
    expect(JSON.parse(run(onServer(read).replaceAll('01…', job_id), key).stdout)).toMatchObject({ task_id: job_id });
  });

  test('every curl call in docs/api.md gets a documented status', () => {
    const calls = blocksOf('docs/api.md').filter(({ language }) => language === 'sh');
    expect(calls.length).toBeGreaterThan(9);
    for (const { text, location } of calls) {
      // The stream of an account's events does not end, but its status comes at once.
      const limit = text.includes('/gen3d/events') ? ' --max-time 2 || true' : '';
      const { stdout } = run(`${onServer(text)} -s -o /dev/null -w '%{http_code}'${limit}`, {
        GEN3D_API_KEY: apiKey,
        JOB_ID: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
      });
      const expected = text.includes('$JOB_ID') ? /^(204|404)$/ : /^(200|202|204|404|409)$/;
      expect(stdout, location).toMatch(expected);
    }
  });

  test('the commands for a team create an account and a working key', () => {
    const line = (...words: string[]) =>
      lineWith(readme, 'gen3d', ...words).replaceAll('/srv/gen3d', join(folder, 'data'));
    run(line('admin', 'account', 'create'));
    const key = run(line('admin', 'key', 'create')).stdout.trim();
    const login = line('login').replace('http://gpu-box:8787', url);
    run(login, { GEN3D_CONFIG_DIR: join(folder, 'her-config') }, `${key}\n`);
    const balance = run('gen3d balance --json', { GEN3D_CONFIG_DIR: join(folder, 'her-config') }).stdout;
    expect(JSON.parse(balance)).toMatchObject({ balance_usd: 10 });
  });
});

const onServer = (script: string) => script.replaceAll(address, url);

function blocksOf(path: string): readonly Block[] {
  return pages().find((page) => page.path === path)?.blocks ?? [];
}

function blockWith(blocks: readonly Block[], words: string): string {
  const found = blocks.find(({ language, text }) => language === 'sh' && text.includes(words));
  if (!found) throw new Error(`No block contains "${words}"`);
  return found.text;
}

/** The first line with a command that has these words, whatever stands between and after them, without its comment. */
function lineWith(blocks: readonly Block[], ...words: string[]): string {
  const lines = blocks.filter(({ language }) => language === 'sh').flatMap(({ text }) => text.split('\n'));
  const line = lines.find((one) =>
    commandsIn(one).some((command) => command[0] === words[0] && words.every((word) => command.includes(word))),
  );
  if (line === undefined) throw new Error(`No command has the words "${words.join(' ')}"`);
  return line.replace(/\s+#.*$/, '');
}

/** Defines the alias in the clone, as in the README, and uses it in another folder. Bash expands aliases line by line. */
const inShell = (script: string) => [
  '-c',
  `shopt -s expand_aliases\ncd '${root}'\n${aliasLine}\ncd '${work}'\n${script}\n`,
];

function start(script: string): ChildProcess {
  return spawn('bash', inShell(script), { env: environment, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
}

function run(script: string, env: NodeJS.ProcessEnv = {}, input = '') {
  const { status, stdout, stderr } = spawnSync('bash', inShell(script), {
    env: { ...environment, ...env },
    input,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${script} exits with ${status}\n${stdout}${stderr}`);
  return { stdout, stderr };
}

function link(name: string, target: string): void {
  const path = join(work, name);
  if (existsSync(path)) return;
  mkdirSync(join(path, '..'), { recursive: true });
  symlinkSync(join(root, target), path, 'junction');
}
