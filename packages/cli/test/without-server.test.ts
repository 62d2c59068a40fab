import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, open, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpointHealthHeaders } from '../../schema/src/rules.js';
import { freePort } from '../../server/test/free-port.js';
import { isServerStarting } from '../src/connection/profile.js';
import { bin, discPng, outputMatching, result, site, testFolder } from './run.js';

const { begin, gen3d, path } = testFolder();

// A privileged port, on which no process listens.
const noServer = { GEN3D_BASE_URL: 'http://127.0.0.1:1' };
const withKey = { ...noServer, GEN3D_API_KEY: 'gen3d_key' };

beforeAll(async () => {
  // Some commands load the server's code, which takes seconds the first time.
  await import('@gen3d/server');
  await writeFile(path('cup.png'), discPng());
  await writeFile(path('bowl.png'), discPng());
  await writeFile(path('notes.txt'), 'not an image');
});

describe('without a server', () => {
  test.each([
    ['with a key', withKey],
    ['and without a key', noServer],
  ])('%s', async (_, env) => {
    const { code, stdout, stderr } = await gen3d(['create', 'cup.png', '--wait'], { env });
    expect(stderr).toContain(
      'error: Cannot reach http://127.0.0.1:1. If the server is not running, start it with `gen3d serve`. ' +
        'If it has another address, set --base-url or GEN3D_BASE_URL\n',
    );
    expect(stdout).toBe('');
    expect(code).toBe(3);
    expect(existsSync(path('cup.glb'))).toBe(false);
  });

  test('create says why a photo of a side is an object of its own', async () => {
    await writeFile(path('jug.left.png'), discPng());
    const { stderr } = await gen3d(['create', 'cup.png', 'jug.left.png', 'missing.png'], { env: noServer });
    expect(stderr).toContain('jug.left.png is an object of its own: its front, such as jug.png, is missing\n');
  });

  test.each([
    ['list', ['list', '--api-key', 'gen3d_key']],
    ['login', ['login']],
  ])(
    '%s does not report a server that speaks http instead of https as unreachable',
    { tags: 'slow' },
    async (_, command) => {
      const { host } = new URL((await site((_, response) => response.end())).url);
      const { code, stderr } = await gen3d([...command, '--base-url', `https://${host}`]);
      const message = `error: The server at ${host} speaks http, not https. Use http://${host} as the base URL\n`;
      expect({ code, stderr }).toEqual({ code: 3, stderr: message });
    },
  );

  test('on another machine, the hint is to check the URL', async () => {
    const { code, stderr } = await gen3d(['list', '--api-key', 'gen3d_key', '--base-url', 'http://gpu-box.invalid']);
    expect(stderr).toMatch(/gpu-box\.invalid.*Check --base-url/);
    expect(stderr).not.toContain('PROXY');
    expect(code).toBe(3);
  });

  test('a proxy in a variable is mentioned', async () => {
    const args = ['list', '--api-key', 'gen3d_key', '--base-url', 'https://gpu-box.invalid'];
    const { stderr } = await gen3d(args, { env: { https_proxy: 'http://127.0.0.1:1' } });
    expect(stderr).toContain('Requests use the proxy in HTTPS_PROXY only with NODE_USE_ENV_PROXY=1. See docs/cli.md\n');
  });
});

test('a command waits for a server that is starting, and uses the key that the server stores', {
  tags: 'slow',
}, async () => {
  const server = createServer((request, response) => {
    const isAllowed = request.url === '/healthz' || request.headers.authorization === 'Bearer gen3d_new';
    response.writeHead(isAllowed ? 200 : 403).end(JSON.stringify({ balance_usd: 5, min_balance_usd: 1, rates: {} }));
  });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const writeProfile = (profile: object) => writeFile(path('starting', 'profile.json'), JSON.stringify(profile));
  await mkdir(path('starting'));
  await writeProfile({ current: url, starting: process.pid, startingSince: Date.now(), servers: {} });

  const { child, ended } = begin(['balance', '--json'], { GEN3D_CONFIG_DIR: path('starting') });
  await outputMatching(
    child,
    /is starting on this machine \(process \d+\)\. Waiting .* until it listens\. Ctrl-C ends/,
  );
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  await writeProfile({ current: url, servers: { [url]: { apiKey: 'gen3d_new' } } });
  const { code, stdout } = await ended;
  server.close();
  expect({ code, balance: JSON.parse(stdout).balance_usd }).toEqual({ code: 0, balance: 5 });
});

test('a command that waits for a starting server reports when the server has ended', { tags: 'slow' }, async () => {
  const starting = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)']);
  await mkdir(path('ending'));
  const profile = { starting: starting.pid, startingSince: Date.now(), servers: {} };
  await writeFile(path('ending', 'profile.json'), JSON.stringify(profile));
  const { child, ended } = begin(['list'], { ...noServer, GEN3D_CONFIG_DIR: path('ending') });
  await outputMatching(child, /A gen3d server is starting on this machine/);
  starting.kill('SIGKILL');
  expect(await ended).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/that was starting .* has ended.* Check its output for the reason\n$/),
  });
});

test('a command does not wait for another program that has the process id of a server that crashed while it started', async () => {
  const startedBefore = { starting: process.pid, startingSince: Date.now() - 300_000, servers: {} };
  const { startingSince, ...startedByOlderVersion } = startedBefore;
  for (const [name, profile] of Object.entries({ startedBefore, startedByOlderVersion })) {
    await mkdir(path(name));
    await writeFile(path(name, 'profile.json'), JSON.stringify(profile));
    const { code, stderr } = await gen3d(['list'], { env: { ...noServer, GEN3D_CONFIG_DIR: path(name) } });
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringMatching(/^error: Cannot reach/) });
  }
  const justNow = { ...startedBefore, startingSince: Date.now() - 60_000 };
  expect(isServerStarting(justNow, 90_000)).toBe(true);
  // The machine was restarted in between.
  expect(isServerStarting(justNow, 30_000)).toBe(false);
});

test('create waits for a server that is started at the same moment, and other commands do not', async () => {
  let attempts = 0;
  const { server, env } = await site((request, response) => {
    response.writeHead(request.method === 'POST' ? 202 : 200, { 'content-type': 'application/json' });
    response.end('{"job_id":"01JAB0000000000000000000AB"}');
  });
  server.on('connection', (socket) => {
    attempts += 1;
    if (attempts <= 2) socket.destroy();
  });
  expect(await gen3d(['list'], { env })).toMatchObject({ code: 3 });
  expect(attempts).toBe(1);
  expect(await gen3d(['create', 'cup.png'], { env })).toMatchObject({ stdout: '01JAB0000000000000000000AB\n' });
});

test('Ctrl-C while a command waits for a server that does not respond exits with 130', { tags: 'slow' }, async () => {
  const silent = await site();
  const { stop } = begin(['list'], silent.env);
  await once(silent.server, 'request');
  const { code, stderr } = await stop();
  expect({ code, stderr }).toEqual({ code: 130, stderr: 'Interrupted.\n' });
});

test('a redirect exits with 3 and names the URL to use', async () => {
  const { url, env } = await site((request, response) =>
    response.writeHead(301, { location: `https://models.example${request.url}` }).end(),
  );
  const { code, stderr } = await gen3d(['list'], { env });
  expect(stderr).toBe(
    `error: ${url} redirects to https://models.example. Use https://models.example as the base URL (--base-url or GEN3D_BASE_URL)\n`,
  );
  expect(code).toBe(3);
});

test('create --option sends the option with the job', async () => {
  const bodies: unknown[] = [];
  const { env } = await site(async (request, response) => {
    if (request.method === 'POST') bodies.push(await json(request));
    response.writeHead(202, { 'content-type': 'application/json' }).end('{"job_id":"01JAB0000000000000000000AB"}');
  });
  const { code } = await gen3d(['create', 'cup.png', '--option', 'quality=1024'], { env });
  expect(code).toBe(0);
  expect(bodies).toMatchObject([{ options: { quality: '1024' } }]);
});

test('after a failed try, a line says what the server said and when the next try is', async () => {
  const statuses = [503, 200];
  const { env } = await site((request, response) => {
    const status = request.url === '/healthz' ? 200 : (statuses.shift() ?? 200);
    const error = { code: 'internal_error', message: 'The server has no space left; try again later' };
    const body = status === 503 ? { error } : { balance_usd: 5, min_balance_usd: 1, rates: {} };
    response.writeHead(status, { 'retry-after': '1' }).end(JSON.stringify(body));
  });
  const { code, stderr } = await gen3d(['balance', '--json'], { env });
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: 'The server has no space left; try again later. Trying again in 1.0 s\n',
  });
});

test.each([{}, { rates: null }])('a balance without prices (%j) is reported as an invalid response', async (rates) => {
  const { env, url } = await site((_, response) => {
    response.end(JSON.stringify({ balance_usd: 5, min_balance_usd: 1, ...rates }));
  });
  const { code, stderr } = await gen3d(['balance'], { env });
  const problem = 'This is not a response from a gen3d server. Check the base URL';
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `error: ${url}/v1/balance responded with status 200. ${problem}\n`,
  });
});

test('webhook set does not suggest another way to receive events if the server refuses the host name', async () => {
  const { env } = await site((_, response) => {
    response.writeHead(421, { 'content-type': 'application/json' });
    response.end('{"error":{"code":"invalid_request","message":"This server does not accept the host name"}}');
  });
  const { code, stderr } = await gen3d(['webhook', 'set', 'https://example.com/gen3d'], { env });
  expect({ code, stderr }).toEqual({ code: 1, stderr: 'error: This server does not accept the host name\n' });
});

test('webhook listen reports an unreachable server, but not a single cut connection', { tags: 'slow' }, async () => {
  const requests: ServerResponse[] = [];
  const { server, env } = await site((request, response) => {
    if (request.url !== '/gen3d/events') return response.end();
    requests.push(response.writeHead(200, { 'content-type': 'text/event-stream' }));
    response.write(': connected\n\n');
  });
  const { child, stop } = begin(['webhook', 'listen', '--forward-to', 'http://127.0.0.1:1/hook'], env);
  await expect.poll(() => requests.length, { timeout: 20_000 }).toBe(1);
  requests[0]!.destroy();
  await expect.poll(() => requests.length, { timeout: 20_000 }).toBe(2);
  const reported = outputMatching(child, /Cannot reach .*Retrying/);
  server.close();
  server.closeAllConnections();
  await reported;
  const { code, stderr } = await stop();
  expect(code).toBe(0);
  expect(stderr.match(/Retrying/g)).toHaveLength(1);
});

test('login says that it cannot store a key, before it makes one', async () => {
  const { code, stderr } = await gen3d(['login', '--new-key'], { env: { GEN3D_CONFIG_DIR: '/proc/gen3d' } });
  expect(stderr).toMatch(
    /^error: Cannot write \/proc\/gen3d\/profile\.json, because .*\. Set GEN3D_CONFIG_DIR to a folder/,
  );
  expect(code).toBe(2);
});

describe('invalid input exits with 2 and a message, without a request:', () => {
  beforeAll(async () => {
    await writeFile(path('bowl.glb'), 'precious');
    await writeFile(path('pointer.jpg'), 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n');
    await symlink('bowl.glb', path('link.glb'));
    await writeFile(path('mug'), discPng());
    await writeFile(path('folder.png'), discPng());
    await writeFile(path('bowl.obj'), 'v 0 0 0');
    await mkdir(path('folder.glb'));
  });
  afterAll(() => expect(existsSync(path('typo'))).toBe(false));

  test.each<[string, string, RegExp]>([
    ['a missing photo', 'create cupp.png', /cupp\.png does not exist/],
    ['a folder', 'create .', /is not a file\. Pass the photos in it/],
    ['a device', 'create /dev/null', /is not a file\. To read a photo from a pipe, pass - for stdin/],
    [
      'a file that is not an image',
      'create notes.txt',
      /notes\.txt is not a recognized image\. Send a JPEG, PNG, WebP, HEIC, AVIF, GIF or TIFF/,
    ],
    [
      'a Git LFS pointer',
      'create pointer.jpg',
      /pointer\.jpg is a Git LFS pointer instead of the image \(run `git lfs/,
    ],
    ['an existing model', 'create bowl.png --wait', /bowl\.glb already exists.*--force/],
    ['a size without a unit', 'create cup.png --wait --size 80', /^error: --size: "80" has no unit/],
    ['two sizes', 'create cup.png --wait --size 8cm --width 8cm', /^error: Use only one of --size, --height/],
    ['a size without --wait', 'create cup.png --size 8cm', /^error: --size 8cm requires --wait/],
    ['a budget without --wait', 'create cup.png --triangles 99', /^error: --triangles 99 requires --wait/],
    ['-o without --wait', 'create cup.png -o x.glb', /-o and --force require --wait/],
    ['an empty -o', 'create cup.png --wait -o ', /^error: -o is empty/],
    [
      'a missing output folder',
      'create cup.png --wait -o no/x.glb',
      /The folder no does not exist\. Create it first, or choose/,
    ],
    [
      'a model in place of its photo',
      'create mug --wait --force -o mug',
      /mug is the input itself\. Choose another path/,
    ],
    ['a model in place of a folder', 'create folder.png --wait --force', /folder\.glb is a folder/],
    ['one file for two models', 'create cup.png bowl.png --wait -o notes.txt', /notes\.txt is a file/],
    [
      'a file name instead of a folder for two models',
      'create cup.png bowl.png --wait -o one.glb',
      /one\.glb is the name of one file.*Pass a folder with -o, such as one\n/,
    ],
    [
      'a format that gen3d cannot write',
      'create cup.png --wait -o x.fbx',
      /Cannot write x\.fbx\. Use the extension \.glb/,
    ],
    ['two models on stdout', 'create cup.png bowl.png --wait -o -', /one model to stdout, not 2/],
    ['a model and JSON on stdout', 'create cup.png --wait -o - --json', /cannot be combined with --json/],
    ['a conversion to no format', 'convert bowl.glb cup', /Cannot write cup\. Use the extension \.glb, \.obj, \.stl/],
    ['a conversion to nothing', 'convert bowl.glb', /Pass the file to write, such as model\.stl, or --to with/],
    ['a conversion to two files', 'convert bowl.glb a.stl -o b.stl', /both a\.stl and b\.stl/],
    ['STL on stdout', 'convert bowl.glb --to stl -o -', /Standard output gets a GLB, so --to stl does not/],
    ['two formats', 'convert bowl.glb --to stl -o b.obj', /b\.obj is a file of another format, so --to stl/],
    ['a copy of no GLB', 'convert bowl.glb copy.glb', /bowl\.glb to copy\.glb\. The file is not a GLB/],
    ['a conversion to an unknown format', 'convert bowl.glb --to fbx', /Allowed choices/],
    ['a conversion onto its source', 'convert bowl.obj bowl.obj --force', /bowl\.obj is the input itself/],
    ['a conversion onto the target of a link', 'convert link.glb bowl.glb -f', /bowl\.glb is the input itself/],
    ['a conversion to stdout and JSON', 'convert bowl.glb - --json', /cannot be combined with --json/],
    [
      'a budget for a thumbnail',
      'download 01J9ZC3W --thumbnail --triangles 500',
      /A thumbnail is an image, so --triangles 500 does not apply to it/,
    ],
    ['stdin twice', 'create - -', /only once/],
    ['a page of 101', 'list --limit 101', /from 1 to 100/],
    [
      'a base URL without http',
      'list --base-url gpu-box:8787',
      /The base URL "gpu-box:8787" is invalid\..* \(--base-url or GEN3D_BASE_URL\)\n$/,
    ],
    ['a URL without a host', 'create http://', /^error: http:\/\/ is not a valid URL\. Pass the path of a photo/],
    ['a bundle before its download', 'models use triposr', /First download TripoSR with `gen3d models pull triposr`/],
    [
      'a new key in a folder without data',
      'login --new-key --data-dir typo',
      /^error: No installation found in .*typo\. Start one with `gen3d serve`/,
    ],
    ['an option with a typo', 'create --wiat cup.png', /Did you mean --wait\?/],
    ['no name', 'admin account create', /missing required argument 'name'\nFor help, run `gen3d/],
    ['no command', '', /Usage: gen3d/],
    ['an empty path', 'create ', /path of a photo is empty/],
  ])('%s', async (_, command, message) => {
    const args = command ? command.split(' ') : [];
    const { code, stdout, stderr } = await gen3d(args, args.includes('--base-url') ? {} : { env: withKey });
    expect(stderr).toMatch(message);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });
});

test('--version and --help print to stdout and exit with 0', async () => {
  expect(await gen3d(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  const help = await gen3d(['serve', '--help']);
  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.stdout).toMatch(
    /--allow-private-network[\s\S]*GEN3D_DATA_DIR|GEN3D_DATA_DIR[\s\S]*--allow-private-network/,
  );
});

describe('a damaged profile', () => {
  beforeAll(() => mkdir(path('config'), { recursive: true }));
  afterAll(() => rm(path('config'), { recursive: true }));

  const profiles = {
    'a truncated one': '{"servers": {"http://127.0.',
    'one of another program': '{"servers": ["http://127.0.0.1:1"]}',
    'one with an invalid key': '{"servers": {"http://127.0.0.1:1": {"apiKey": 7}}}',
    'one with an invalid URL': '{"current": "noServer", "servers": {}}',
  };

  test.each(Object.entries(profiles))('%s fails with its path', async (_, profile) => {
    await writeFile(path('config', 'profile.json'), profile);
    const { code, stderr } = await gen3d(['list'], { env: noServer });
    expect(stderr).toMatch(/^error: .*profile\.json is damaged\. Correct it, or rename it and run `gen3d login`\n$/);
    expect(code).toBe(2);
  });
});

describe('Ctrl-C while a photo is being sent', { tags: 'slow' }, () => {
  test.each([
    ['with --wait', ['create', 'cup.png', '--wait']],
    ['without --wait', ['create', 'cup.png']],
  ])('%s says that there may be a job, and how to check', async (_, args) => {
    let receive = () => {};
    const received = new Promise<void>((resolve) => (receive = resolve));
    const { env } = await site((request, response) => (request.method === 'POST' ? receive() : void response.end()));
    const { stop } = begin(args, env);
    await received;
    const { code, stdout, stderr } = await stop();
    expect(stderr).toMatch(
      /Interrupted\. The server has not confirmed a job for cup\.png\. If there is one, `gen3d list` shows it\n$/,
    );
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
  });
});

test('webhook get says that deliveries are paused, since when they fail, and what to do', async () => {
  const health = { failing_since: '2026-01-01T00:00:00.000Z', paused_until: '2026-01-03T00:00:00.000Z' };
  const endpoint = { url: 'https://example.com/hook', secret: 'whsec_x' };
  const { env } = await site((_, response) => {
    response.writeHead(200, endpointHealthHeaders(health)).end(JSON.stringify(endpoint));
  });
  const text = await gen3d(['webhook', 'get'], { env });
  const { stdout: json } = await gen3d(['webhook', 'get', '--json'], { env });
  expect(text.stderr).toContain(
    `paused until ${health.paused_until}: every delivery since ${health.failing_since} has failed`,
  );
  expect(text.stderr).toContain('gen3d webhook test');
  expect(JSON.parse(json)).toEqual({ ...endpoint, ...health });
});

test.skipIf(process.platform !== 'linux')(
  'a full disk on stdout exits with 1 and a message',
  { tags: 'slow' },
  async () => {
    const full = await open('/dev/full', 'w');
    const child = spawn(process.execPath, [bin, '--help'], {
      env: { PATH: process.env.PATH, HOME: path(), ...noServer },
      stdio: ['ignore', full.fd, 'pipe'],
    });
    const { code, stderr } = await result(child);
    await full.close();
    expect(stderr).toMatch(/^error: Cannot write to stdout, because the disk is full\n$/);
    expect(code).toBe(1);
  },
);
