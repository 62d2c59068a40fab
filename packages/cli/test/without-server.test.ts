import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bin, discPng, result, workplace } from './run.js';

const { gen3d, path, start } = workplace();

// A port nobody listens on; privileged, so that nobody starts to.
const nowhere = { GEN3D_BASE_URL: 'http://127.0.0.1:1' };
const withKey = { ...nowhere, GEN3D_API_KEY: 'gen3d_key' };

beforeAll(async () => {
  await writeFile(path('cup.png'), discPng());
  await writeFile(path('bowl.png'), discPng());
  await writeFile(path('notes.txt'), 'not a picture');
});

describe('no server', () => {
  test.each([
    ['with a key', withKey],
    ['and no key either', nowhere],
  ])('%s', async (_, env) => {
    const { code, stdout, stderr } = await gen3d(['create', 'cup.png', '--wait'], { env });
    expect(stderr).toContain(
      'error: cannot reach http://127.0.0.1:1: is the server running? Start it with `gen3d serve`\n',
    );
    expect(stdout).toBe('');
    expect(code).toBe(3);
    expect(existsSync(path('cup.glb'))).toBe(false);
  });

  test('on another machine the advice is another', async () => {
    const { code, stderr } = await gen3d(['list', '--api-key', 'gen3d_key', '--base-url', 'http://gpu-box.invalid']);
    expect(stderr).toMatch(/gpu-box\.invalid.*Check --base-url/);
    expect(code).toBe(3);
  });
});

describe('what cannot be done as it was typed ends with 2 and a sentence, before anything is sent', () => {
  beforeAll(() => writeFile(path('bowl.glb'), 'precious'));

  test.each<[string, string[], RegExp]>([
    ['a photo that is not there', ['create', 'cupp.png'], /cupp\.png does not exist/],
    ['one of several that is not there', ['create', 'cup.png', 'cupp.png'], /cupp\.png does not exist/],
    ['a folder', ['create', '.'], /is not a file/],
    ['a file that is no picture', ['create', 'notes.txt'], /notes\.txt is not a recognized image/],
    ['a model that is there already', ['create', 'bowl.png', '--wait'], /bowl\.glb exists already.*--force/],
    ['-o without --wait', ['create', 'cup.png', '-o', 'x.glb'], /-o and --force need --wait/],
    [
      'an output folder that is not there',
      ['create', 'cup.png', '--wait', '-o', 'no/x.glb'],
      /Nothing can be written into no/,
    ],
    ['two photos for one model', ['create', 'cup.png', './cup.png', '--wait'], /would both be cup\.glb/],
    ['one file for two models', ['create', 'cup.png', 'bowl.png', '--wait', '-o', 'notes.txt'], /notes\.txt is a file/],
    [
      "a file's name for the folder of two models",
      ['create', 'cup.png', 'bowl.png', '--wait', '-o', 'one.glb'],
      /one\.glb is the name of one file.*Give a folder with -o, such as one\n/,
    ],
    ['stdin twice', ['create', '-', '-'], /only once/],
    ['a status that is none', ['list', '--status', 'DONE'], /Allowed choices are PENDING/],
    ['a page of 101', ['list', '--limit', '101'], /from 1 to 100/],
    ['a base URL without http', ['list', '--base-url', 'gpu-box:8787'], /is no server's address/],
    ['a command with a typo', ['craete', 'cup.png'], /Did you mean create\?/],
    ['an option with a typo', ['create', '--wiat', 'cup.png'], /Did you mean --wait\?/],
    ['a model with a typo', ['models', 'use', 'gen3d-bsae'], /no model called gen3d-bsae\. Did you mean gen3d-base\?/],
    ['a shell that is none', ['completion', 'tcsh'], /Allowed choices are bash, zsh, fish/],
    ['--preview without --wait', ['create', 'cup.png', '--preview'], /--preview needs --wait/],
    ['no photo', ['create'], /missing required argument 'image'/],
    ['no command', [], /Usage: gen3d/],
    [
      'a port that is none',
      ['serve', '--port', '70000'],
      /--port \(GEN3D_PORT; .*\) must be a whole number from 0 to 65535/,
    ],
    ['a port that is no number', ['serve', '--port', 'abc'], /--port \(GEN3D_PORT; .*\) must be a whole number from 0/],
    ['a photo without a name', ['create', ''], /name is empty/],
    ['a photo whose name starts with a dash', ['create', '-dash.png'], /If it is a file.*\.\/-photo\.png/],
  ])('%s', async (_, args, words) => {
    const { code, stdout, stderr } = await gen3d(args, args.includes('--base-url') ? {} : { env: withKey });
    expect(stderr).toMatch(words);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });
});

test('--version and --help end with 0 and speak on stdout', async () => {
  expect(await gen3d(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  const help = await gen3d(['serve', '--help']);
  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.stdout).toMatch(
    /--allow-private-network[\s\S]*GEN3D_DATA_DIR|GEN3D_DATA_DIR[\s\S]*--allow-private-network/,
  );
});

test('doctor says what is here, and the terms of each model in one line with the path of its notice', async () => {
  const { code, stdout } = await gen3d(['doctor'], { env: nowhere });
  expect(stdout).toMatch(/node +\d+\.\d+/);
  expect(stdout).toMatch(/nothing answers at http:\/\/127\.0\.0\.1:1/);
  expect(stdout).toMatch(
    /^ {2}isnet +code: Apache-2\.0; weights: .* non-commercial use only\. See \/.*isnet\/NOTICE\.md$/m,
  );
  expect(stdout).toContain(
    '`gen3d models pull triposr` adds TripoSR, a larger model: 1.7 GB of disk, 3.0 GB of memory, MIT',
  );
  expect(stdout).toMatch(/^ {2}gen3d-tiny +code: MIT; weights: MIT; training data: MIT.* pictures or shapes\. See /m);
  expect(code).toBe(0);
});

describe('a damaged profile', () => {
  beforeAll(() => mkdir(path('config')));
  afterAll(() => rm(path('config'), { recursive: true }));

  const profiles = {
    'cut short': '{"servers": {"http://127.0.',
    'of another program': '{"servers": ["http://127.0.0.1:1"]}',
    'with a key that is none': '{"servers": {"http://127.0.0.1:1": {"apiKey": 7}}}',
    'with an address that is none': '{"current": "nowhere", "servers": {}}',
  };

  test.each(Object.entries(profiles))('%s is named by every command that needs it', async (_, profile) => {
    await writeFile(path('config', 'profile.json'), profile);
    const { code, stderr } = await gen3d(['list'], { env: nowhere });
    expect(stderr).toMatch(/^error: .*profile\.json is damaged\. Delete it and run `gen3d login`\n$/);
    expect(code).toBe(2);
  });

  test('is one finding of doctor, which goes on', async () => {
    await writeFile(path('config', 'profile.json'), '{');
    const { code, stdout } = await gen3d(['doctor'], { env: nowhere });
    expect(stdout).toMatch(/✖ profile +.*profile\.json is damaged\. Delete it and run `gen3d login`\n/);
    expect(stdout).toMatch(/nothing answers at http:\/\/127\.0\.0\.1:1/);
    expect(stdout).toMatch(/^ {2}gen3d-base +code: MIT;/m);
    expect(code).toBe(1);
  });
});

describe('Ctrl-C while a photo is being sent', () => {
  test.each([
    ['with --wait', ['create', 'cup.png', '--wait']],
    ['without', ['create', 'cup.png']],
  ])('%s says that its fate is not known, and where to look', async (_, args) => {
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const child = start(args, { GEN3D_BASE_URL: `http://127.0.0.1:${port}`, GEN3D_API_KEY: 'gen3d_key' });
    const ended = result(child);
    await once(silent, 'request');
    child.kill('SIGINT');
    const { code, stdout, stderr } = await ended;
    silent.close();
    expect(stderr).toMatch(
      /Interrupted\. No answer had come for cup\.png: .*`gen3d list` shows it among the newest\n$/,
    );
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
  });
});

test.skipIf(process.platform !== 'linux')('a result that cannot be written ends with 1 and a sentence', async () => {
  const full = await open('/dev/full', 'w');
  const child = spawn(process.execPath, [bin, 'doctor', '--json'], {
    env: { PATH: process.env.PATH, HOME: path(), ...nowhere },
    stdio: ['ignore', full.fd, 'pipe'],
  });
  const { code, stderr } = await result(child);
  await full.close();
  expect(stderr).toMatch(/^error: The output could not be written: ENOSPC.*\n$/);
  expect(code).toBe(1);
});

test('doctor --json says the same for programs', async () => {
  const { stdout } = await gen3d(['doctor', '--json'], { env: nowhere });
  const names = (JSON.parse(stdout) as { models: Array<{ name: string }> }).models.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['gen3d-base', 'gen3d-tiny', 'isnet']));
});

test('models verify reads every weight', async () => {
  expect(await gen3d(['models', 'verify', 'gen3d-tiny'])).toMatchObject({ code: 0, stderr: '✔ gen3d-tiny\n' });
  expect(await gen3d(['models', 'verify', 'gen3d-huge'])).toMatchObject({ code: 2 });
});
