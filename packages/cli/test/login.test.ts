// @module-tag slow
import { readFile, rm, writeFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { hasScript, onTerminal } from './pseudo-terminal.js';
import { bin, outputMatching, testFolder } from './run.js';

const { begin, gen3d, path, serve } = testFolder();
let server: Awaited<ReturnType<typeof serve>>;
let url: string;
beforeAll(async () => {
  server = await serve('--workers', '0');
  url = server.url;
});

describe('after the key was lost', () => {
  test.skipIf(!hasScript)('login asks for a key on a terminal, and says how to get a new one', async () => {
    await gen3d(['logout']);
    const list = await gen3d(['list']);
    expect(list).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(`No API key for ${url}. \`gen3d login\` asks`),
    });

    const { child: login, ended } = begin(onTerminal([process.execPath, bin, 'login']), {}, 'script');
    await outputMatching(login, /API key for/);
    login.stdin.write('\r');
    expect(await ended).toMatchObject({ code: 2, stdout: expect.stringContaining('`gen3d login --new-key` creates') });
  });

  test('login --new-key finds the server by its data directory, even if another server is the default', async () => {
    await gen3d(['logout']);
    const profile = JSON.parse(await readFile(path('config', 'profile.json'), 'utf8'));
    await writeFile(path('config', 'profile.json'), JSON.stringify({ ...profile, current: 'http://127.0.0.1:1' }));
    expect(await gen3d(['login', '--new-key'])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`Logged in to ${url}.`),
    });
    expect(await gen3d(['list'])).toMatchObject({ code: 0 });
  });

  test('login --new-key needs no terminal, and an account name if there are several accounts', async () => {
    await gen3d(['logout']);
    const baseUrl = ['--base-url', url];
    await gen3d(['admin', 'account', 'create', 'ann', '--balance', '7']);
    const ambiguous = await gen3d(['login', '--new-key', ...baseUrl]);
    expect(ambiguous).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--account ACCOUNT`:\n {2}\w{26} {2}default\n {2}\w{26} {2}ann\n$/),
    });
    expect(await gen3d(['login', '--new-key', '--account', 'ann', ...baseUrl])).toMatchObject({ code: 0 });
    expect(JSON.parse((await gen3d(['balance', '--json'])).stdout)).toMatchObject({ balance_usd: 7 });
  });

  test('login says what to do about a wrong key and an empty one', async () => {
    const wrong = await gen3d(['login', '--base-url', url], { input: 'gen3d_wrong' });
    expect(wrong).toMatchObject({ code: 4, stderr: expect.stringContaining('Check that you copied the whole key') });
    const empty = await gen3d(['login', '--base-url', url], { input: '\n' });
    expect(empty).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`\`gen3d login --new-key\` creates one`),
    });
  });

  test('login creates no key in the data of another server', async () => {
    const data = ['--data-dir', path('other')];
    await gen3d(['admin', ...data, 'account', 'create', 'default']);
    const { code, stderr } = await gen3d(['login', '--new-key', ...data, '--base-url', url]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/does not use the data in .*other/) });
    const [key] = JSON.parse((await gen3d(['admin', ...data, 'key', 'list', '--json'])).stdout);
    expect(key.revoked_at).not.toBeNull();
  });
});

test('after the profile was lost, a restarted server is the default', async () => {
  server.child.kill('SIGTERM');
  await server.ended;
  await rm(path('config', 'profile.json'), { force: true });
  const restarted = await serve('--workers', '0');
  const { code, stderr } = await gen3d(['list']);
  expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringContaining(`No API key for ${restarted.url}.`) });
});
