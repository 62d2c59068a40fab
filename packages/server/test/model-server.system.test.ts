import { once } from 'node:events';
import { createServer } from 'node:http';
import { Manifest } from '@gen3d/engine/bundles';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { ballPhoto } from './ball-photo.js';
import { freePort } from './free-port.js';
import { createJob, finishedJob, imageJob, site, startServer } from './kit.js';
import { dialects } from './model-server-dialects.js';
import { httpBundle, httpManifest, outsideModel, partsOfGlb } from './model-server-kit.js';

test('a bundle of the kind http makes models on another server, and cancels there', async () => {
  const model = await outsideModel();
  const closed: Promise<unknown>[] = [];
  const url = await site(({ headers }, response) => {
    // The server asks without a photo first, whether there is such an address.
    if (Number(headers['content-length']) < 1_000) return response.writeHead(400).end();
    if (closed.length === 0) response.end(model);
    closed.push(once(response, 'close'));
  });
  const { call } = await startServer({ workers: 1, bundle: httpBundle(url) });

  const task = await finishedJob(call, await createJob(call, imageJob(ballPhoto())));
  expect(task).toMatchObject({ status: 'SUCCEEDED', progress: 100 });
  const glb = await (await fetch(task.model_urls!.glb)).arrayBuffer();
  expect(partsOfGlb(Buffer.from(glb)).asset.extras.bundles).toMatchObject([{ name: 'outside', license: 'MIT' }]);
  expect((await fetch(task.thumbnail_url!)).headers.get('content-type')).toBe('image/jpeg');

  const id = await createJob(call, imageJob(ballPhoto()));
  await expect.poll(() => closed.length).toBe(2);
  expect(await call('POST', `/gen3d/jobs/${id}/cancel`)).toMatchObject({ status: 200 });
  await closed[1];
});

test('while the model server is down, no job is claimed, and the server says so; afterwards all are done', async () => {
  const port = await freePort();
  const bundle = httpBundle(`http://127.0.0.1:${port}`);
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const { call, url } = await startServer({ workers: 1, bundle, leaseSeconds: 2 }, { log });
  const ids = [await createJob(call, imageJob(ballPhoto())), await createJob(call, imageJob(ballPhoto()))];
  const runners = async () => {
    const { status, body } = await call('GET', '/readyz');
    return [status, (body as { checks: { runners: string } }).checks.runners];
  };
  const paused = 'all runners are paused by an outage that is named in the log of their machine';
  await expect.poll(runners).toEqual([503, paused]);
  await expect.poll(async () => (await fetch(`${url}/metrics`)).text()).toMatch(/gen3d_runners{.*state="paused"} 1/);
  // Long enough for further probes.
  await new Promise((resolve) => setTimeout(resolve, 7_000));
  for (const id of ids) expect((await call('GET', `/v1/jobs/${id}`)).body).toMatchObject({ status: 'QUEUED' });
  const about = lines.filter((line) => line.includes(`127.0.0.1:${port}`));
  expect(about).toEqual([expect.stringContaining('cannot be reached (ECONNREFUSED); jobs wait')]);

  const model = await outsideModel();
  const later = createServer(({ headers }, response) => {
    if (Number(headers['content-length']) < 1_000) return response.writeHead(400).end();
    return response.end(model);
  }).listen(port, '127.0.0.1');
  onTestFinished(() => {
    later.closeAllConnections();
    later.close();
  });
  for (const id of ids) expect((await finishedJob(call, id)).status).toBe('SUCCEEDED');
  await expect.poll(runners).toEqual([200, 'ok']);
});

test('the options of a job reach the model server if the bundle lists them, also when the job is repeated', async () => {
  const { listener, path, manifest } = dialects.find(({ name }) => name === 'trellis2.c')!;
  const seen: Record<string, unknown>[] = [];
  const url = await site(listener(await outsideModel(), (fields) => seen.push(fields)));
  const bundle = httpBundle(`${url}${path}`, { ...manifest, model: undefined });
  const { call } = await startServer({ workers: 1, bundle });

  const options = { texture_size: '2048', pipeline: { other: true }, keep: 1, list: [1] };
  const id = await createJob(call, { ...imageJob(ballPhoto()), options });
  expect(await finishedJob(call, id)).toMatchObject({ status: 'SUCCEEDED' });
  const repeated = await call('POST', `/gen3d/jobs/${id}/retry`);
  expect(await finishedJob(call, (repeated.body as { job_id: string }).job_id)).toMatchObject({ status: 'SUCCEEDED' });
  const expected = { pipeline: '512', texture_size: '2048' };
  expect(seen).toEqual([expected, expected]);
});

test.each([
  ['its URL is not http', { url: 'file:///etc' }, /url/],
  [
    'it names the variable of another credential',
    { keyVariable: 'AWS_SECRET_ACCESS_KEY' },
    /must begin with MODEL_SERVER_/,
  ],
  ['it has graphs', { graph: 'encoder.onnx' }, /graph/],
])('a manifest of the kind http is refused if %s', (_, fields, field) => {
  expect(() => Manifest.parse({ ...httpManifest('http://127.0.0.1:9'), ...fields })).toThrow(field);
});
