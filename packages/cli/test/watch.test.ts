import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { publicTestKey } from '@gen3d/sdk';
import { beforeAll, expect, test, vi } from 'vitest';
import { discPng, result, says, workplace } from './run.js';

const { gen3d, path, serve, start } = workplace();
let server: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  // No runner: an own job stays open, and the test key's are done at once.
  server = await serve('--workers', '0');
});
const testKey = { GEN3D_API_KEY: publicTestKey };
const isModel = (file: string) =>
  vi.waitUntil(
    () =>
      readFile(file).then(
        (content) => content.toString('latin1', 0, 4) === 'glTF',
        () => false,
      ),
    { timeout: 40_000 },
  );
const jobs = async () => JSON.parse((await gen3d(['list', '--json', '--limit', '100'])).stdout).jobs;

test('photos that are there and photos that come get their models, and nothing else is touched', async () => {
  await mkdir(path('inbox', 'inside'), { recursive: true });
  await writeFile(path('inbox', 'there.png'), discPng());
  await writeFile(path('inbox', 'made.png'), discPng(90));
  await writeFile(path('inbox', 'made.glb'), 'precious');
  await writeFile(path('inbox', 'notes.txt'), 'not a photo');
  await writeFile(path('inbox', '.hidden.png'), discPng(91));
  await writeFile(path('inbox', 'inside', 'deep.png'), discPng(92));
  const child = start(['watch', 'inbox'], testKey);
  const ended = result(child);
  await says(child, /Watching inbox, Ctrl-C ends/);
  await isModel(path('inbox', 'there.glb'));
  await writeFile(path('inbox', 'comes.PNG'), discPng(93));
  await isModel(path('inbox', 'comes.glb'));
  child.kill('SIGINT');
  const { code, stdout, stderr } = await ended;
  expect(code).toBe(0);
  expect(stdout.trimEnd().split('\n').sort()).toEqual(['inbox/comes.glb', 'inbox/there.glb']);
  expect(stderr).toMatch(/✔ there\.png {2}\d+ kB, .* s\n/);
  expect(stderr).not.toMatch(/made|notes|hidden|deep|on the way/);
  expect(await readFile(path('inbox', 'made.glb'), 'utf8')).toBe('precious');
});

test('a photo that is written in pieces is sent when it is whole', async () => {
  await mkdir(path('slow'));
  const child = start(['watch', 'slow'], testKey);
  const ended = result(child);
  await says(child, /Watching/);
  // Uncompressed, and below the limit of the public test key.
  const photo = discPng(200, 80, 0);
  const piece = Math.ceil(photo.length / 4);
  for (let at = 0; at < photo.length; at += piece) {
    await appendFile(path('slow', 'cup.png'), photo.subarray(at, at + piece));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await isModel(path('slow', 'cup.glb'));
  child.kill('SIGINT');
  // In pieces it would have been sent several times, and the first of them refused.
  const { stderr } = await ended;
  expect(stderr.match(/cup\.png {2}job/g)).toHaveLength(1);
  expect(stderr).not.toContain('✖');
});

test('a restart sends no photo twice, and says what goes on', async () => {
  await mkdir(path('twice'));
  await writeFile(path('twice', 'cup.png'), discPng(94));
  for (const _ of ['first', 'second']) {
    const child = start(['watch', 'twice']);
    const ended = result(child);
    await says(child, /cup\.png {2}job/);
    child.kill('SIGINT');
    expect(await ended).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('1 photo on the way: the same command picks up the models\n'),
    });
  }
  expect(await jobs()).toHaveLength(1);
});

test('a job that ends badly is told once, and again only when its file changes', async () => {
  const child = start(['watch', 'twice']);
  const ended = result(child);
  await says(child, /cup\.png {2}job/);
  const [{ task_id }] = await jobs();
  // Both may be said before the call that causes them returns.
  const canceled = says(child, /✖ cup\.png {2}Job \w+ was canceled/);
  await gen3d(['admin', 'job', 'cancel', task_id]);
  await canceled;
  const again = says(child, /cup\.png {2}job/);
  await writeFile(path('twice', 'cup.png'), discPng(95));
  await again;
  expect(await jobs()).toHaveLength(2);
  child.kill('SIGTERM');
  expect((await ended).code).toBe(0);
});

test('two photos for one model: the second is named, and waits for another name', async () => {
  await mkdir(path('pair'));
  await writeFile(path('pair', 'cup.png'), discPng());
  await writeFile(path('pair', 'cup.jpeg'), discPng());
  const child = start(['watch', 'pair'], testKey);
  const ended = result(child);
  await says(child, /✖ cup\.(png|jpeg) {2}would become cup\.glb, as cup\.(png|jpeg) does\. Rename one of them/);
  await isModel(path('pair', 'cup.glb'));
  child.kill('SIGINT');
  expect((await ended).stdout).toBe('pair/cup.glb\n');
});

test('a server that goes away and comes back is waited for', async () => {
  await mkdir(path('patient'));
  const { port } = new URL(server.url);
  const child = start(['watch', 'patient'], testKey);
  const ended = result(child);
  await says(child, /Watching/);
  server.child.kill('SIGTERM');
  await server.ended;
  await writeFile(path('patient', 'cup.png'), discPng());
  await says(child, /cup\.png {2}cannot reach|cup\.png {2}.*Trying again in/);
  server = await serve('--workers', '0', '--port', port);
  await isModel(path('patient', 'cup.glb'));
  child.kill('SIGINT');
  expect((await ended).code).toBe(0);
});

test.each([
  ['a folder that is not there', ['watch', 'nowhere'], {}, 2, /nowhere is not there/],
  ['a photo', ['watch', 'inbox/there.png'], {}, 2, /is no folder/],
  ['a wrong key', ['watch', 'inbox'], { GEN3D_API_KEY: 'gen3d_wrong' }, 4, /missing, wrong or revoked/],
  ['no server', ['watch', 'inbox', '--base-url', 'http://127.0.0.1:1', '--api-key', 'x'], {}, 3, /cannot reach/],
])('%s ends it at once', async (_, args, env, code, words) => {
  expect(await gen3d(args, { env })).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(words) });
});
