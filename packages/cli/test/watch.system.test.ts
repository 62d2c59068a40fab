import { appendFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { publicTestKey } from '@gen3d/sdk';
import { beforeAll, expect, test, vi } from 'vitest';
import { discPng, outputMatching, testFolder } from './run.js';

const { begin, gen3d, path, serve } = testFolder();
let server: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  // Without a runner, jobs stay PENDING, except those of the test key, which finish immediately.
  server = await serve('--workers', '0');
});
const testKey = { GEN3D_API_KEY: publicTestKey };
const watch = (folder: string, env = {}) => begin(['watch', folder], env);
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

test('existing and new photos become models, and other files are ignored', async () => {
  await mkdir(path('inbox', 'inside'), { recursive: true });
  await writeFile(path('inbox', 'existing.png'), discPng());
  await writeFile(path('inbox', 'done.png'), discPng(90));
  await writeFile(path('inbox', 'done.glb'), 'precious');
  await writeFile(path('inbox', 'notes.txt'), 'not a photo');
  await writeFile(path('inbox', '.hidden.png'), discPng(91));
  await writeFile(path('inbox', 'inside', 'deep.png'), discPng(92));
  const { child, stop } = watch('inbox', testKey);
  await outputMatching(child, /Watching inbox \(Ctrl-C to stop\)/);
  await isModel(path('inbox', 'existing.glb'));
  await writeFile(path('inbox', 'new.PNG'), discPng(93));
  await isModel(path('inbox', 'new.glb'));
  const { code, stdout, stderr } = await stop();
  expect(code).toBe(0);
  expect(stdout.trimEnd().split('\n').sort()).toEqual(['inbox/existing.glb', 'inbox/new.glb']);
  expect(stderr).toMatch(/✔ existing\.png {2}\d+ kB, .* s\n/);
  expect(stderr).not.toMatch(/done|notes|hidden|deep|unfinished/);
  expect(await readFile(path('inbox', 'done.glb'), 'utf8')).toBe('precious');
});

test('the model of an earlier job is named as such', async () => {
  await mkdir(path('again'));
  await writeFile(path('again', 'cup.png'), discPng(97));
  const model = path('again', 'cup.glb');
  for (const [isAgain, line] of [
    [false, /✔ cup\.png/],
    [true, /This photo had a job: its model was made on \d{4}-\d\d-\d\d.*`.* delete \w+`/],
  ] as const) {
    if (isAgain) await rm(model);
    const { child, stop } = watch('again', testKey);
    await outputMatching(child, line);
    await stop();
  }
});

test('a photo of a side waits for its front, and a message says how to use it alone', async () => {
  await mkdir(path('sides'));
  const { child, stop } = watch('sides');
  const named = outputMatching(
    child,
    /pot\.back\.png {2}its front, such as pot\.png, is missing\. .*: gen3d create sides\/pot\.back\.png --wait/,
  );
  await writeFile(path('sides', 'pot.back.png'), discPng(81));
  await named;
  expect(await jobs()).toHaveLength(0);
  const created = outputMatching(child, /pot\.png {2}job/);
  await writeFile(path('sides', 'pot.png'), discPng(82));
  await created;
  expect(await jobs()).toMatchObject([{ views: ['back'] }]);
  expect((await stop()).stderr.match(/ {2}job/g)).toHaveLength(1);
  const [{ task_id }] = await jobs();
  await gen3d(['cancel', task_id]);
  await gen3d(['delete', task_id]);
});

test('a side that arrives late is used once the model is deleted, and the line of the model names it', async () => {
  await mkdir(path('late'));
  await writeFile(path('late', 'pot.png'), discPng(85));
  const { child, stop } = watch('late', testKey);
  await isModel(path('late', 'pot.glb'));
  await writeFile(path('late', 'pot.left.png'), discPng(86));
  const again = outputMatching(child, /✔ pot\.png \(left\)/);
  await rm(path('late', 'pot.glb'));
  await again;
  const { stderr } = await stop();
  expect(stderr).toMatch(/✔ pot\.png {2}/);
  expect(new Set(stderr.match(/job \w+/g)).size).toBe(2);
});

test('a photo that is written in pieces is sent when it is complete', async () => {
  await mkdir(path('slow'));
  const { child, stop } = watch('slow', testKey);
  await outputMatching(child, /Watching/);
  // Uncompressed, but below the limit of the public test key.
  const photo = discPng(200, 80, 0);
  const piece = Math.ceil(photo.length / 4);
  for (let offset = 0; offset < photo.length; offset += piece) {
    await appendFile(path('slow', 'cup.png'), photo.subarray(offset, offset + piece));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await isModel(path('slow', 'cup.glb'));
  const { stderr } = await stop();
  expect(stderr.match(/cup\.png {2}job/g)).toHaveLength(1);
  expect(stderr).not.toContain('✖');
});

test('a restart creates no second job for a photo', async () => {
  await mkdir(path('twice'));
  await writeFile(path('twice', 'cup.png'), discPng(94));
  for (const _ of ['first', 'second']) {
    const { child, stop } = watch('twice');
    await outputMatching(child, /cup\.png {2}job/);
    expect(await stop()).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('1 photo unfinished. Run the same command to get the models\n'),
    });
  }
  expect(await jobs()).toHaveLength(1);
});

test('a canceled job is reported once, and retried when the file changes', async () => {
  const { child, stop } = watch('twice');
  await outputMatching(child, /cup\.png {2}job/);
  const [{ task_id }] = await jobs();
  // The output may appear before the call that causes it returns.
  const canceled = outputMatching(child, /✖ cup\.png {2}Job \w+ was canceled/);
  await gen3d(['admin', 'job', 'cancel', task_id]);
  await canceled;
  const retried = outputMatching(child, /cup\.png {2}job/);
  await writeFile(path('twice', 'cup.png'), discPng(95));
  await retried;
  expect(await jobs()).toHaveLength(2);
  expect((await stop('SIGTERM')).code).toBe(0);
});

test('a second photo for the same model is rejected', async () => {
  await mkdir(path('pair'));
  await writeFile(path('pair', 'cup.png'), discPng());
  await writeFile(path('pair', 'cup.jpeg'), discPng());
  const { child, stop } = watch('pair', testKey);
  await outputMatching(child, /✖ cup\.(png|jpeg) {2}would become cup\.glb, like cup\.(png|jpeg)\. Rename one of them/);
  await isModel(path('pair', 'cup.glb'));
  expect((await stop()).stdout).toBe('pair/cup.glb\n');
});

test('watch waits for a server that is temporarily unavailable', async () => {
  await mkdir(path('waiting'));
  const { port } = new URL(server.url);
  const { child, stop } = watch('waiting', testKey);
  await outputMatching(child, /Watching/);
  server.child.kill('SIGTERM');
  await server.ended;
  await writeFile(path('waiting', 'cup.png'), discPng());
  await outputMatching(child, /cup\.png {2}.*Retrying in/);
  // Its front uses a side that arrives before there is a job.
  await writeFile(path('waiting', 'cup.left.png'), discPng(87));
  await outputMatching(child, /(?:Retrying in[\s\S]*){2}/);
  const made = outputMatching(child, /✔ cup\.png \(left\)/);
  server = await serve('--workers', '0', '--port', port);
  await made;
  expect(await stop()).toMatchObject({ code: 0, stdout: 'waiting/cup.glb\n' });
});

test('a photo that has its model when watch stops does not count as unfinished', async () => {
  await mkdir(path('complete'));
  await writeFile(path('complete', 'cup.png'), discPng(96));
  const { child, stop } = watch('complete');
  await outputMatching(child, /cup\.png {2}job/);
  await writeFile(path('complete', 'cup.glb'), 'from elsewhere');
  const { code, stderr } = await stop();
  expect(code).toBe(0);
  expect(stderr).not.toContain('unfinished');
});

test.each([
  ['removed', () => {}],
  ['replaced', () => mkdir(path('gone'))],
])('when the folder is %s, the command ends with a message', async (_, replace) => {
  await mkdir(path('gone'));
  const { child, ended } = watch('gone', testKey);
  await outputMatching(child, /Watching gone/);
  await rename(path('gone'), path('elsewhere'));
  await replace();
  const { code, stderr } = await ended;
  await rm(path('elsewhere'), { recursive: true });
  await rm(path('gone'), { recursive: true, force: true });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/error: gone was removed or replaced/) });
});

test.each([
  ['a missing folder', ['watch', 'missing'], {}, 2, /missing does not exist/],
  ['a photo instead of a folder', ['watch', 'inbox/existing.png'], {}, 2, /is not a folder/],
  ['a wrong key', ['watch', 'inbox'], { GEN3D_API_KEY: 'gen3d_wrong' }, 4, /missing, wrong or revoked/],
  ['no server', ['watch', 'inbox', '--base-url', 'http://127.0.0.1:1', '--api-key', 'x'], {}, 3, /Cannot reach/],
])('%s exits immediately', async (_, args, env, code, message) => {
  expect(await gen3d(args, { env })).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) });
});
