import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { changeProfile, profilePath, readProfile, withServer } from '../src/connection/profile.js';
import { bin, result } from './run.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gen3d-profile-'));
  vi.stubEnv('GEN3D_CONFIG_DIR', folder);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

const urls = Array.from({ length: 8 }, (_, index) => `http://127.0.0.1:${9000 + index}`);
const addServer = (url: string) => changeProfile((profile) => withServer(profile, url, { apiKey: `key of ${url}` }));

test('changes at the same time lose no key', async () => {
  await Promise.all(urls.map(addServer));
  expect(Object.keys((await readProfile()).servers).sort()).toEqual(urls);
});

test('a lock that a killed process left does not prevent a change', async () => {
  const lock = `${profilePath()}.lock`;
  await writeFile(lock, '');
  const before = new Date(Date.now() - 60_000);
  await utimes(lock, before, before);
  await addServer(urls[0]!);
  expect(Object.keys((await readProfile()).servers)).toEqual([urls[0]]);
});

test('a byte order mark before the profile is ignored', async () => {
  await addServer(urls[0]!);
  const text = await readFile(profilePath(), 'utf8');
  await writeFile(profilePath(), `\uFEFF${text.replaceAll('\n', '\r\n')}`);
  expect(await readProfile()).toMatchObject({ current: urls[0] });
});

const canChangeUser = process.getuid?.() === 0 && spawnSync('setpriv', ['--version']).status === 0;
test.runIf(canChangeUser)('a user without a home folder is told which variable to set', async () => {
  // With this capability, the user can read this repository in a private folder.
  const capability = ['--inh-caps', '+dac_read_search', '--ambient-caps', '+dac_read_search'];
  const user = ['--reuid', '12345', '--regid', '12345', '--clear-groups', ...capability];
  const run = (...args: string[]) =>
    result(spawn('setpriv', [...user, process.execPath, bin, ...args], { env: { PATH: process.env.PATH } }));
  expect((await run('--version')).code).toBe(0);
  expect(await run('list')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'error: This user has no home folder. Set HOME or GEN3D_CONFIG_DIR\n',
  });
});
