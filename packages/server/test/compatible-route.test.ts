// Each request follows a client of another server, or the specification that the client follows; the sources of the
// servers are named in model-server-dialects.ts.
// @module-tag slow
import { describe, expect, test } from 'vitest';
import { asDataUri, ballPhoto, transparentPhoto } from './ball-photo.js';
import { sharedServer } from './contract/kit.js';
import { adminOf, databaseOf, finishedJob, imageJob, readJob, startServer, type TestServer, until } from './kit.js';

/** A needle, because its model takes half the time of a ball's. */
const photo = ballPhoto(160, 0.1);

const { server: compatible } = sharedServer({ workers: 1, compat: true });
const post = (
  { url, apiKey }: TestServer,
  path: string,
  body: unknown,
  { key = apiKey, ...headers }: Record<string, string> = {},
) =>
  fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body),
  });
type Generated = { id: string; created: number; data: { url?: string; b64_json?: string }[] };

test('without --compat, the routes of other servers do not exist', async () => {
  const server = await startServer();
  for (const path of ['/v1/3d/generations', '/api/v1/3d/generations', '/3d/generations', '/v1/models']) {
    expect(await server.call('POST', path, { image: asDataUri(photo) })).toMatchObject({ status: 404 });
  }
});

test('clients of LocalAI get a URL or base64, and those of Lemonade and trellis2.c the file', async () => {
  const server = compatible();
  const image = photo.toString('base64');

  // mudler/LocalAI 82c191afa, docs/content/features/3d-generation.md:91 and :105
  const localAi = { model: 'trellis2-4b', image, quality: '512' };
  const first = await post(server, '/3d/generations', localAi);
  expect(first.status).toBe(200);
  const { id, created, data } = (await first.json()) as Generated;
  expect(created).toBeCloseTo(Date.now() / 1_000, -2);
  const task = await readJob(server.call, id);
  expect(data).toEqual([{ url: task.model_urls?.glb }]);
  const model = Buffer.from(await (await fetch(task.model_urls!.glb)).arrayBuffer());
  const inline = await post(server, '/3d/generations', { ...localAi, response_format: 'b64_json' });
  const text = await inline.text();
  expect(Number(inline.headers.get('content-length'))).toBe(text.length);
  const [{ b64_json = '' } = {}] = (JSON.parse(text) as Generated).data;
  expect(Buffer.from(b64_json, 'base64').equals(model)).toBe(true);

  const isModel = async (response: Response) => {
    expect(response.headers.get('content-type')).toBe('model/gltf-binary');
    expect(Buffer.from(await response.arrayBuffer()).equals(model)).toBe(true);
  };
  // lemonade-sdk/lemonade e385039ed, src/app/src/renderer/components/panels/Model3DPanel.tsx:81
  const lemonade = { model: 'TRELLIS-3D', image, resolution: 512, bg_removal: 'birefnet' };
  await isModel(await post(server, '/api/v1/3d/generations', lemonade));
  await isModel(await post(server, '/v1/3d/generations', { ...lemonade, response_format: 'glb' }));
  expect((await post(server, '/v1/3d/generations', { ...lemonade, response_format: 'obj' })).status).toBe(400);
  // Quartermaster, section 4 of its wiki article about 3D generation
  const path = '/v1/3d/generations?model=trellis-2-4b&texture_size=1024';
  await isModel(await post(server, path, photo, { 'content-type': 'image/png' }));
});

test('with Prefer: respond-async, a client polls as HT-compat 1.0 says', async () => {
  const server = compatible();
  const submit = async (image_url: string) => {
    const body = { model: 'trellis-image-large', image_url, output_format: 'glb', n: 1 };
    const response = await post(server, '/v1/3d/generations', body, { prefer: 'respond-async' });
    expect(response.status).toBe(202);
    expect(response.headers.get('preference-applied')).toBe('respond-async');
    return (await response.json()) as { id: string };
  };
  const submitted = await submit(asDataUri(photo));
  expect(submitted).toMatchObject({
    object: '3d.generation',
    created: expect.any(Number),
    model: 'inflate',
    status: 'queued',
  });
  const task = await finishedJob(server.call, submitted.id);
  const poll = (id: string) => server.call('GET', `/v1/3d/generations/${id}`);
  expect((await poll(submitted.id)).body).toMatchObject({
    id: submitted.id,
    status: 'completed',
    data: [{ url: task.model_urls?.glb, format: 'glb', preview_image_url: task.thumbnail_url }],
  });
  const { id } = await submit(asDataUri(transparentPhoto()));
  await finishedJob(server.call, id);
  expect((await poll(id)).body).toMatchObject({ status: 'failed', error: { code: 'no_foreground' } });
  expect(await poll('01ARZ3NDEKTSV4RRFFQ69G5FAV')).toMatchObject({ status: 404 });
});

describe('photos of several sides', () => {
  const photoOf = (side: string) => `https://example.com/${side}.jpg`;
  const [front, left, back, right] = ['front', 'left', 'back', 'right'].map(photoOf);
  const { server: withoutWorker } = sharedServer({ compat: true });
  const submit = async (body: unknown) => {
    const server = withoutWorker();
    const response = await post(server, '/v1/3d/generations', body, { prefer: 'respond-async' });
    return { server, status: response.status, answer: await response.json() };
  };

  test.each([
    // The names of Hunyuan3D-2mv's pipeline
    ['the object of Hunyuan3D-2mv', { image: { front, back, left, right: null } }, { front, left, back }],
    ["image_urls in Tripo's order", { image_urls: [front, left, back, right] }, { front, left, back, right }],
    ["images in Tripo's order, with gaps", { images: [front, null, '', right] }, { front, right }],
    [
      'image_urls with one photo, and null for what is not used,',
      { image_urls: [front], image: null, image_url: null },
      { front },
    ],
  ])('%s become the views of the job', async (_, body, urls) => {
    const { server, status, answer } = await submit(body);
    expect(status).toBe(202);
    const db = databaseOf(server);
    const { id } = answer as Generated;
    const job = await db.selectFrom('jobs').select('image_urls').where('id', '=', id).executeTakeFirstOrThrow();
    expect(JSON.parse(job.image_urls!)).toEqual(urls);
  });

  test.each([
    ['without a front', { images: [null, left] }, /^image: missing/],
    ['without a front in the object', { image: { left } }, /^image: missing/],
    ['with an unknown side', { image: { front, top: left } }, /^image.*: is unknown/],
    ['with more than four', { images: [front, left, back, right, front] }, /^images: must have at most 4/],
    ['with a file of the server as a side', { image_urls: [front, 'file:///etc/passwd'] }, /^input\.views\.left: /],
  ])('%s are refused', async (_, body, message) => {
    const { status, answer } = await submit(body);
    expect(status).toBe(400);
    expect(answer).toMatchObject({ error: { code: 'invalid_request', message: expect.stringMatching(message) } });
  });
});

test('clients find the bundle by its capability', async () => {
  const server = compatible();
  const model = { id: 'inflate', object: 'model', owned_by: 'gen3d', capabilities: ['3d'] };
  expect((await server.call('GET', '/v1/models')).body).toEqual({ object: 'list', data: [model] });
});

test('keys and errors are those of the contract, and a failed job is a 422 with its error', async () => {
  const server = compatible();
  const generate = (body: unknown, key?: string) => server.call('POST', '/v1/3d/generations', body, key);
  expect(await generate({ image: asDataUri(photo) }, 'gen3d_wrong')).toMatchObject({ status: 403 });
  const missing = await generate({ model: 'trellis2-4b' });
  expect(missing).toMatchObject({
    status: 400,
    body: { error: { code: 'invalid_request', message: expect.stringMatching(/^image: missing/) } },
  });
  expect(await generate({ image: 'file:///etc/passwd' })).toMatchObject({ status: 400 });
  const failed = await generate({ image: asDataUri(transparentPhoto()) });
  expect(failed).toMatchObject({ status: 422, body: { error: { code: 'no_foreground' } } });
  expect(await server.call('GET', '/v1/3d/generations')).toMatchObject({ status: 405 });
});

test('a request that waits ends when its key is revoked, and others of the account take its place', async () => {
  const server = await startServer({ compat: true });
  const admin = await adminOf(server);
  const { account_id } = await admin.createAccount('ann', 10);
  const [leaked, kept] = [await admin.createKey(account_id), await admin.createKey(account_id)];
  const generate = (key: string, prefer: string) =>
    post(server, '/3d/generations', { image: asDataUri(photo) }, { key, prefer });
  const outcomes = Array.from({ length: 32 }, () =>
    generate(leaked.api_key, '').then(
      ({ status }) => status,
      () => 'disconnected',
    ),
  );
  await until(async () => (await generate(kept.api_key, 'respond-async')).status === 429);
  await admin.revokeKey(leaked.key_id);
  expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['disconnected']));
  expect((await generate(kept.api_key, 'respond-async')).status).toBe(202);
});

test('requests that wait do not keep their images in memory, and end with the server', async () => {
  const server = await startServer({ compat: true });
  // The image ends before the other bytes. Twelve of them are more than an account may hold of the memory for bodies.
  const imageOf = (byte: number) => asDataUri(Buffer.concat([photo, Buffer.alloc(4_000_000, byte)]));
  const countJobs = async () => ((await server.call('GET', '/v1/jobs')).body as { jobs: unknown[] }).jobs.length;
  const waiting: Promise<string>[] = [];
  while (waiting.length < 12) {
    const request = server.call('POST', '/v1/3d/generations', { image: imageOf(waiting.length) });
    waiting.push(
      request.then(
        () => 'responded',
        () => 'disconnected',
      ),
    );
    await until(async () => (await countJobs()) === waiting.length, 20_000);
  }
  expect(await server.call('POST', '/v1/jobs', imageJob(imageOf(0)))).toMatchObject({ status: 202 });
  await server.close({ graceMs: 0 });
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['disconnected']));
});
