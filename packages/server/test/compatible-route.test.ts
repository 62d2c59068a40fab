// Requests are written after the documentation of LocalAI's /3d/generations.
import { expect, test } from 'vitest';
import { asDataUri, ballPhoto, transparentPhoto } from './ball-photo.js';
import { imageJob, readJob, smallModels, startServer, until } from './kit.js';

const compatible = () => startServer({ ...smallModels, workers: 1, compat: true });
type Generated = { id: string; created: number; data: { url?: string; b64_json?: string }[] };

test('without --compat, the routes of other servers do not exist', async () => {
  const server = await startServer();
  for (const path of ['/v1/3d/generations', '/3d/generations']) {
    expect(await server.call('POST', path, { image: asDataUri(ballPhoto()) })).toMatchObject({ status: 404 });
  }
});

test('a request waits for its job, and gets the model as a URL or in base64', async () => {
  const server = await compatible();
  const image = ballPhoto().toString('base64');
  const first = await server.call('POST', '/3d/generations', { model: 'trellis2-4b', image, quality: '512', seed: 7 });
  expect(first.status).toBe(200);
  const { id, created, data } = first.body as Generated;
  expect(created).toBeCloseTo(Date.now() / 1_000, -2);
  const task = await readJob(server.call, id);
  expect(data).toEqual([{ url: task.model_urls?.glb }]);

  const inline = { model: 'trellis2-4b', image: asDataUri(ballPhoto()), response_format: 'b64_json' };
  const second = await server.call('POST', '/v1/3d/generations', inline);
  const [{ b64_json = '' } = {}] = (second.body as Generated).data;
  const model = await fetch(task.model_urls!.glb);
  expect(Buffer.from(b64_json, 'base64').equals(Buffer.from(await model.arrayBuffer()))).toBe(true);
});

test('keys and errors are those of the contract, and a failed job is a 422 with its error', async () => {
  const server = await compatible();
  const post = (body: unknown, key?: string) => server.call('POST', '/v1/3d/generations', body, key);
  expect(await post({ image: asDataUri(ballPhoto()) }, 'gen3d_wrong')).toMatchObject({ status: 403 });
  const missing = await post({ model: 'trellis2-4b' });
  expect(missing).toMatchObject({
    status: 400,
    body: { error: { code: 'invalid_request', message: expect.stringMatching(/^image: missing/) } },
  });
  expect(await post({ image: 'file:///etc/passwd' })).toMatchObject({ status: 400 });
  const failed = await post({ image: asDataUri(transparentPhoto()) });
  expect(failed).toMatchObject({ status: 422, body: { error: { code: 'no_foreground' } } });
  expect(await server.call('GET', '/v1/3d/generations')).toMatchObject({ status: 405 });
});

test('requests that wait do not keep their images in memory, and end with the server', async () => {
  const server = await startServer({ compat: true });
  // The image ends before the zeros. Twelve of them are more than an account may hold of the memory for bodies.
  const image = asDataUri(Buffer.concat([ballPhoto(), Buffer.alloc(4_000_000)]));
  const countJobs = async () => ((await server.call('GET', '/v1/jobs')).body as { jobs: unknown[] }).jobs.length;
  const waiting: Promise<string>[] = [];
  while (waiting.length < 12) {
    const request = server.call('POST', '/v1/3d/generations', { image });
    waiting.push(
      request.then(
        () => 'responded',
        () => 'disconnected',
      ),
    );
    await until(async () => (await countJobs()) === waiting.length, 20_000);
  }
  expect(await server.call('POST', '/v1/jobs', imageJob(image))).toMatchObject({ status: 202 });
  await server.close({ graceMs: 0 });
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['disconnected']));
});
