import { readFile, writeFile } from 'node:fs/promises';
import { publicTestKey } from '@gen3d/sdk';
import { beforeAll, expect, test } from 'vitest';
import { discPng, testFolder } from './run.js';

const { gen3d, path, serve } = testFolder();
let url: string;
let apiKey: string;
beforeAll(async () => {
  ({ url } = await serve('--workers', '0'));
  await writeFile(path('cup.png'), discPng());
  // Commands without --base-url use another server.
  const profile = JSON.parse(await readFile(path('config', 'profile.json'), 'utf8'));
  apiKey = profile.servers[url].apiKey;
  await writeFile(path('config', 'profile.json'), JSON.stringify({ ...profile, current: 'http://127.0.0.1:1' }));
});

/** The arguments of the command that a message suggests, up to the end of a line or a backtick. */
function suggested(stderr: string, pattern: RegExp): string[] {
  const [, words] = pattern.exec(stderr) ?? [];
  if (words === undefined) throw new Error(`${stderr} does not match ${pattern}`);
  return words.split(' ');
}

test('a suggested command uses the same server', async () => {
  const server = ['--base-url', url];
  const first = (await gen3d(['create', 'cup.png', ...server])).stdout.trim();
  await gen3d(['create', 'cup.png', ...server]);
  const page = await gen3d(['list', '--limit', '1', ...server]);
  expect(await gen3d(suggested(page.stderr, /Next page: gen3d (.*)/))).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(first),
  });
  const early = await gen3d(['download', first, ...server]);
  expect(early.stderr).toContain(`gen3d get ${first} --wait -o cup.glb --base-url ${url}\n`);
  const unknown = await gen3d(['get', '7ZZZ', ...server]);
  expect(await gen3d(suggested(unknown.stderr, /`gen3d (list[^`]*)`/))).toMatchObject({ code: 0 });
});

test('a suggested command has a placeholder instead of the API key', async () => {
  const server = ['--base-url', url, '--api-key', apiKey];
  const { stderr } = await gen3d(['list', '--limit', '1', ...server]);
  expect(stderr).toMatch(new RegExp(`--cursor \\S+ --base-url ${url} --api-key KEY\n$`));
  const refused = await gen3d(['list', '--base-url', url, '--api-key', 'gen3d_wrong']);
  expect(refused.stderr).toContain(`\`gen3d login --base-url ${url}\``);
});

test('a suggested admin command uses the same data, without the password of its database', async () => {
  const folder = path('other data');
  const { stderr, stdout } = await gen3d(['admin', 'account', 'create', 'ann', '--data-dir', folder]);
  expect(stderr).toContain(`gen3d admin key create ${stdout.trim()} --data-dir '${folder}'\n`);
  const failing = await gen3d(['login', '--base-url', url, '--database', 'postgres://ann:secret@127.0.0.1:1/gen3d']);
  expect(failing.stderr).toContain(`gen3d login --new-key --base-url ${url} --database URL`);
});

test('the account of the public test key cannot be administered', async () => {
  await gen3d(['balance', '--base-url', url, '--api-key', publicTestKey]);
  expect(await gen3d(['login', '--new-key', '--account', 'sandbox', '--base-url', url])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('No account has the id sandbox or that name'),
  });
});
