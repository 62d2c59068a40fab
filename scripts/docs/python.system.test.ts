import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ballPhoto, transparentPhoto } from '../../packages/server/test/ball-photo.js';
import { site, smallModels, startServer, type TestServer, temporaryFolder } from '../../packages/server/test/kit.js';
import { pages } from './markdown.js';

const [program] = (pages().find(({ path }) => path === 'docs/python.md')?.blocks ?? []).filter(
  ({ language }) => language === 'python',
);
const missing = spawnSync('python3', ['--version']).status !== 0;
if (missing) console.warn('SKIPPED: the program of docs/python.md, because python3 was not found');

/** Runs the program of the page in an empty folder. */
async function photoToModel({ url, apiKey }: Pick<TestServer, 'url' | 'apiKey'>, photo: Buffer) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'photo_to_model.py'), program!.text);
  writeFileSync(join(folder, 'photo.png'), photo);
  const { stdout } = await promisify(execFile)('python3', ['photo_to_model.py', 'photo.png', 'model.glb'], {
    cwd: folder,
    env: { ...process.env, GEN3D_BASE_URL: url, GEN3D_API_KEY: apiKey },
  });
  return { stdout, model: readFileSync(join(folder, 'model.glb')) };
}

describe.skipIf(missing)('the program of docs/python.md', () => {
  test('turns a photo into a model, also if the server is busy at first', async () => {
    const server = await startServer({ ...smallModels, workers: 1 });
    const created: unknown[] = [];
    // The first response is lost after the job was created, and the second says that the server is busy.
    const busy = await site(async (request, response) => {
      const body = await text(request);
      if (request.method === 'POST') created.push(JSON.parse(body).idempotency_key);
      if (request.method === 'POST' && created.length === 2) {
        return void response.writeHead(503, { 'retry-after': '0' }).end('{}');
      }
      const { status, headers, body: answer } = await server.call(request.method!, request.url!, body || undefined);
      if (request.method === 'POST' && created.length === 1) return void request.socket.destroy();
      response.writeHead(status, { 'retry-after': headers.get('retry-after') ?? '0' }).end(JSON.stringify(answer));
    });
    const { stdout, model } = await photoToModel({ url: busy, apiKey: server.apiKey }, ballPhoto());
    expect(stdout).toBe('model.glb\n');
    expect(model.toString('latin1', 0, 4)).toBe('glTF');
    expect(created).toHaveLength(3);
    expect(new Set(created).size).toBe(1);
    expect((await server.call('GET', '/v1/jobs')).body).toMatchObject({ jobs: [{ status: 'SUCCEEDED' }] });
  });

  test('reports why a job failed, and why a request was refused', async () => {
    const server = await startServer({ ...smallModels, workers: 1 });
    await expect(photoToModel(server, transparentPhoto())).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/ended as FAILED.*no_foreground/),
    });
    await expect(photoToModel({ url: server.url, apiKey: 'gen3d_wrong' }, ballPhoto())).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/returned 403/),
    });
  });
});
