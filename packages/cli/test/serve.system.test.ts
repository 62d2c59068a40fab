import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { hasScript, onTerminal } from './pseudo-terminal.js';
import { bin, discPng, outputMatching, testFolder } from './run.js';

const { begin, gen3d, path, serve, spawned } = testFolder();
beforeAll(() => writeFile(path('cup.png'), discPng()));

const ctrlC = '\x03';
const linesOf = (output: string) => stripVTControlCharacters(output).trimEnd().split(/\r?\n/);

test.skipIf(!hasScript)(
  'on a terminal, serve shows a banner, then one line per job, and in the end that it stopped',
  async () => {
    const serveOnTerminal = () =>
      begin(onTerminal([process.execPath, bin, 'serve', '--port', '0', '--bundle', 'inflate']), {}, 'script');
    const { child: first, ended } = serveOnTerminal();
    const started = linesOf(await outputMatching(first, /Next[^\n]*\n/));
    expect(started[0]).toMatch(/INFO: loading the networks and checking the devices/);
    // Before it, a warning may say that no sandbox for decoders is installed.
    const banner = started.slice(started.findIndex((line) => line.startsWith('gen3d is listening')));
    const url = /^gen3d is listening on (\S+)$/.exec(banner[0] ?? '')?.[1] ?? '';
    expect(banner).toEqual([
      `gen3d is listening on ${url}`,
      expect.stringMatching(`^  Dashboard +${url}/dashboard/sign-in#\\S+$`),
      expect.stringMatching(/^ {2}API key +gen3d_\S+ \(shown only once\)$/),
      expect.stringMatching(/^ {2}Device +cpu, .* cores$/),
      expect.stringMatching(/^ {2}Bundle +inflate/),
      `  Data       ${path('data')}`,
      expect.stringMatching(/^ {2}Next +.*gen3d create photo.jpg --wait$/),
    ]);
    const succeeded = (await gen3d(['create', 'cup.png', '--wait', '--json'])).stdout;
    await writeFile(path('empty.png'), discPng(64, 0));
    // The runner logs the failure after the client can see it.
    const failed = outputMatching(first, /job failed[^\n]*\n/);
    await gen3d(['create', 'empty.png', '--wait']);
    await failed;
    first.stdin.write(ctrlC);
    const output = linesOf((await ended).stdout).slice(started.length);
    expect(output).toEqual([
      expect.stringMatching(
        `^\\[[\\d:]+\\] INFO: job succeeded: cup\\.png, ${JSON.parse(succeeded).task_id}, [\\d.]+ s of inference$`,
      ),
      expect.stringMatching(
        /^\[[\d:]+\] INFO: job failed: empty\.png, [0-9A-Z]{26}, no_foreground, This image is fully transparent/,
      ),
      expect.stringMatching(/^(\^C)?Stopping\./),
      'Stopped',
    ]);

    const { child: second, ended: secondEnded } = serveOnTerminal();
    expect(await outputMatching(second, /Data[^\n]*\n/)).toMatch(/API key\S* +stored on this machine/);
    second.stdin.write(ctrlC);
    await secondEnded;
  },
);

test('in a log, the first start prints how to get a key and a sign-in link, and --log-level selects the records', async () => {
  const env = ['--data-dir', path('logged'), '--workers', '0'];
  const first = await serve(...env, '--log-level', 'warn');
  await gen3d(['create', 'cup.png']);
  first.child.kill('SIGTERM');
  const quiet = (await first.ended).stderr;
  expect(quiet).toMatch(/^Created the account "default"\. .* to get one: gen3d admin key create default/);
  expect(quiet).not.toContain('gen3d_');
  expect(quiet).toContain('gen3d admin sign-in-link');
  expect(quiet).not.toContain('/dashboard/sign-in');
  expect(quiet).not.toContain('"request"');

  const created = await gen3d(['admin', '--data-dir', path('logged'), 'key', 'create', 'default', '--json']);
  expect(JSON.parse(created.stdout)).toHaveProperty('api_key', expect.stringMatching(/^gen3d_/));
  const second = await serve(...env, '--log-level', 'debug');
  const { stdout } = await gen3d(['create', 'cup.png']);
  second.child.kill('SIGTERM');
  const records = (await second.ended).stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(records).toContainEqual(expect.objectContaining({ msg: 'request', status: 202, jobId: stdout.trim() }));
});

test('in a log, a worker says that it loads the networks, before it is ready', async () => {
  const { child: worker, stop } = begin(['worker', '--bundle', 'inflate']);
  await outputMatching(worker, /gen3d worker is ready/);
  const { stderr } = await stop('SIGTERM');
  expect(stderr).toMatch(/loading the networks and checking the devices[\s\S]*gen3d worker is ready/);
});

test('a log for people does not show the key of the first start either', async () => {
  const server = await serve('--data-dir', path('pretty'), '--workers', '0', '--log-format', 'pretty');
  server.child.kill('SIGTERM');
  const { stderr } = await server.ended;
  expect(stderr).toMatch(/API key\S* +stored on this machine/);
  expect(stderr).not.toContain('gen3d_');
});

/** Appends the URL of each module that the process loads to a file. Loaders run in a thread of the process. */
const recordModules = (file: string) => {
  const loader = `import { appendFileSync } from 'node:fs';
    export async function load(url, context, next) { appendFileSync(${JSON.stringify(file)}, url + '\\n'); return next(url, context); }`;
  const register = `import { register } from 'node:module'; register(${JSON.stringify(asModule(loader))});`;
  return ['--import', asModule(register)];
};
const asModule = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;

test('where memory is short, serve says so at the start, in the words of doctor', async () => {
  const NODE_OPTIONS = `--import=${asModule('process.constrainedMemory = () => 440e6')}`;
  const env = { NODE_OPTIONS, GEN3D_DATA_DIR: path('short'), GEN3D_BUNDLE: 'inflate' };
  const { child: server, stop } = begin(['serve', '--port', '0'], env);
  await outputMatching(server, /listening on/);
  const said = /^warning: The memory may not suffice: (.*)$/m.exec((await stop('SIGTERM')).stderr)?.[1];
  const { findings } = JSON.parse((await spawned(['doctor', '--json'], { env })).stdout);
  const finding = findings.find(({ topic }: { topic: string }) => topic === 'memory');
  expect(finding).toMatchObject({
    level: 'note',
    text: expect.stringMatching(/^440.0 MB, .*\. 4 GB are recommended$/),
  });
  // The amount of free memory changes all the time.
  const withoutAvailable = (text = '') => text.replace(/, .* available/, '');
  expect(withoutAvailable(said)).toBe(withoutAvailable(finding.text));
});

/** Lists the source files of built modules. */
async function sourcesOf(modules: readonly string[]): Promise<string[]> {
  const built = modules.filter((url) => /\/packages\/[^/]+\/dist\//.test(url));
  const maps = await Promise.all(built.map((url) => readFile(`${fileURLToPath(url)}.map`, 'utf8')));
  return maps.flatMap((map, at) =>
    (JSON.parse(map).sources as string[]).map((source) => new URL(source, built[at]).pathname),
  );
}

test('the process that serves the API loads no code that reads checkpoints, converts models or runs networks', async () => {
  const file = path('modules.txt');
  const args = ['serve', '--port', '0', '--data-dir', path('modules'), '--bundle', 'inflate', '--log-format', 'pretty'];
  const { child: server, ended } = begin([...recordModules(file), bin, ...args], {}, process.execPath);
  await outputMatching(server, /Data[^\n]*\n/);
  server.kill('SIGTERM');
  await ended;
  const modules = (await readFile(file, 'utf8')).trim().split('\n');
  const sources = await sourcesOf(modules);
  expect(sources).toContainEqual(expect.stringMatching('/server/src/serve.ts$'));
  expect(
    // The command line itself has the options of conversions, which need no code that converts.
    sources.filter((source) =>
      /\/(convert\/src\/(?!options|file-names|conversion-error)|weights\/src\/(checkpoint|skeleton)|engine\/src\/(photo|network\/session|surface))/.test(
        source,
      ),
    ),
  ).toEqual([]);
  expect(
    modules.filter((url) => /\/node_modules\/.*(sharp|onnxruntime|gltf-transform|meshoptimizer)/.test(url)),
  ).toEqual([]);
});
