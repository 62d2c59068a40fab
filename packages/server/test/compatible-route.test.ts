// Each request follows a client of another server, or the specification that the client follows; the sources of the
// servers are named in model-server-dialects.ts.
// @module-tag slow
import type { Task } from '@gen3d/schema';
import { describe, expect, onTestFinished, test } from 'vitest';
import { dataDirOf } from '../src/data/installation/data-dir.js';
import { openAdmin } from '../src/index.js';
import { asDataUri, ballPhoto, transparentPhoto } from './ball-photo.js';
import { sharedServer } from './contract/kit.js';
import { createJob, finishedJob, imageJob, readJob, site, startServer, type TestServer, until } from './kit.js';
import { openDatabase } from './open-database.js';

/** A needle, because its model takes half the time of a ball's. */
const photo = ballPhoto(160, 0.1);

const { server: compatible } = sharedServer({ workers: 1, compat: true });
type Generated = { id: string; created: number; data: { url?: string; b64_json?: string }[] };

test('without --compat, the routes of other servers do not exist', async () => {
  const server = await startServer();
  for (const path of ['/v1/3d/generations', '/api/v1/3d/generations', '/3d/generations', '/v1/models']) {
    expect(await server.call('POST', path, { image: asDataUri(photo) })).toMatchObject({ status: 404 });
  }
});

test('clients of LocalAI get a URL or base64, and those of Lemonade and trellis2.c the file', async () => {
  const server = compatible();
  const post = (path: string, body: string | Uint8Array<ArrayBuffer>, type = 'application/json') =>
    fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.apiKey}`, 'content-type': type },
      body,
    });
  const image = photo.toString('base64');

  // mudler/LocalAI 82c191afa, docs/content/features/3d-generation.md:91 and :105
  const localAi = { model: 'trellis2-4b', image, quality: '512' };
  const first = await post('/3d/generations', JSON.stringify(localAi));
  expect(first.status).toBe(200);
  const { id, created, data } = (await first.json()) as Generated;
  expect(created).toBeCloseTo(Date.now() / 1_000, -2);
  const task = await readJob(server.call, id);
  expect(data).toEqual([{ url: task.model_urls?.glb }]);
  const model = Buffer.from(await (await fetch(task.model_urls!.glb)).arrayBuffer());
  const inline = await post('/3d/generations', JSON.stringify({ ...localAi, response_format: 'b64_json' }));
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
  await isModel(await post('/api/v1/3d/generations', JSON.stringify(lemonade)));
  await isModel(await post('/v1/3d/generations', JSON.stringify({ ...lemonade, response_format: 'glb' })));
  expect((await post('/v1/3d/generations', JSON.stringify({ ...lemonade, response_format: 'obj' }))).status).toBe(400);
  // Quartermaster, section 4 of its wiki article about 3D generation
  const path = '/v1/3d/generations?model=trellis-2-4b&texture_size=1024';
  await isModel(await post(path, new Uint8Array(photo), 'image/png'));
});

test('with Prefer: respond-async, a client polls as HT-compat 1.0 says', async () => {
  const server = compatible();
  const authorization = `Bearer ${server.apiKey}`;
  const submit = async (image_url: string) => {
    const response = await fetch(`${server.url}/v1/3d/generations`, {
      method: 'POST',
      headers: { authorization, prefer: 'respond-async', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'trellis-image-large', image_url, output_format: 'glb', n: 1 }),
    });
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
  const post = async (body: unknown) => {
    const server = await startServer({ compat: true });
    const response = await fetch(`${server.url}/v1/3d/generations`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.apiKey}`,
        prefer: 'respond-async',
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    });
    return { server, status: response.status, answer: await response.json() };
  };

  test.each([
    // The names of Hunyuan3D-2mv's pipeline
    ['the object of Hunyuan3D-2mv', { image: { front, back, left, right: null } }, { front, left, back }],
    ["image_urls in Tripo's order", { image_urls: [front, left, back, right] }, { front, left, back, right }],
    ["images in Tripo's order, with gaps", { images: [front, null, '', right] }, { front, right }],
    ['image_urls with one photo', { image_urls: [front] }, { front }],
  ])('%s become the views of the job', async (_, body, urls) => {
    const { server, status, answer } = await post(body);
    expect(status).toBe(202);
    const db = openDatabase(dataDirOf(server.config).database);
    onTestFinished(() => db.destroy());
    const jobs = await db.selectFrom('jobs').select(['id', 'image_urls']).execute();
    expect(jobs).toEqual([{ id: (answer as Generated).id, image_urls: expect.any(String) }]);
    expect(JSON.parse(jobs[0]!.image_urls!)).toEqual(urls);
  });

  test.each([
    ['without a front', { images: [null, left] }, /^image: missing/],
    ['without a front in the object', { image: { left } }, /^image: missing/],
    ['with an unknown side', { image: { front, top: left } }, /^image.*: is unknown/],
    ['with more than four', { images: [front, left, back, right, front] }, /^images: must have at most 4/],
    ['with a file of the server as a side', { image_urls: [front, 'file:///etc/passwd'] }, /^input\.views\.left: /],
  ])('%s are refused', async (_, body, message) => {
    const { status, answer } = await post(body);
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
  const post = (body: unknown, key?: string) => server.call('POST', '/v1/3d/generations', body, key);
  expect(await post({ image: asDataUri(photo) }, 'gen3d_wrong')).toMatchObject({ status: 403 });
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

describe('a client that tries again', () => {
  const image = asDataUri(photo);
  type Settings = { headers?: Record<string, string>; signal?: AbortSignal };
  const send = (server: TestServer, body: unknown, { headers, signal }: Settings = {}) =>
    fetch(`${server.url}/3d/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.apiKey}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });
  const submit = async (server: TestServer, body: unknown, headers: Record<string, string> = {}) => {
    const response = await send(server, body, { headers: { prefer: 'respond-async', ...headers } });
    expect(response.status).toBe(202);
    return ((await response.json()) as Generated).id;
  };
  const jobsOf = async (server: TestServer) => ((await server.call('GET', '/v1/jobs')).body as { jobs: Task[] }).jobs;
  const balanceOf = async (server: TestServer) =>
    ((await server.call('GET', '/v1/balance')).body as { balance_usd: number }).balance_usd;

  test.each([
    ['with the same Idempotency-Key', { 'idempotency-key': 'first try' }],
    ['without a key, while the job is unfinished', {}],
  ])('gets the model of its first request %s, and one charge', async (_, headers) => {
    const settings = { rates: { cpu: 0.01 }, instance: 'cpu', allowPrivateNetwork: true };
    const server = await startServer({ compat: true, workers: 1, ...settings });
    const before = await balanceOf(server);
    let sendPhoto = () => {};
    const photoMayBeSent = new Promise<void>((resolve) => {
      sendPhoto = resolve;
    });
    const url = await site(async (_request, response) => {
      await photoMayBeSent;
      response.end(photo);
    });
    const lost = new AbortController();
    const cutOff = send(server, { image: url }, { headers, signal: lost.signal }).catch(() => 'cut off');
    const [{ task_id: id }] = await until(async () => {
      const jobs = await jobsOf(server);
      return jobs.length > 0 && (jobs as [Task]);
    });
    lost.abort();
    expect(await cutOff).toBe('cut off');
    expect(await submit(server, { image: url }, headers)).toBe(id);
    sendPhoto();
    expect(await finishedJob(server.call, id)).toMatchObject({ status: 'SUCCEEDED' });
    expect(await jobsOf(server)).toHaveLength(1);
    const charged = before - (await balanceOf(server));
    expect(charged).toBeGreaterThan(0);

    const afterwards = await send(server, { image: url }, { headers });
    const isRepeat = 'idempotency-key' in headers;
    expect(((await afterwards.json()) as Generated).id === id).toBe(isRepeat);
    expect(await jobsOf(server)).toHaveLength(isRepeat ? 1 : 2);
    if (isRepeat) expect(before - (await balanceOf(server))).toBe(charged);
  });

  test('has its own key and photo, and shares no job with another account', async () => {
    const server = await startServer({ compat: true });
    const admin = await openAdmin(server.config);
    onTestFinished(() => admin.close());
    const { account_id } = await admin.createAccount('other', 10);
    const other = { ...server, apiKey: (await admin.createKey(account_id)).api_key };
    const ids = await Promise.all(Array.from({ length: 5 }, () => submit(server, { image })));
    expect(new Set(ids).size).toBe(1);
    const different = asDataUri(ballPhoto(90));
    const key = { 'idempotency-key': 'mug' };
    const others = [
      await submit(other, { image }),
      await submit(server, { image: different }),
      await submit(server, { image }, key),
      await submit(other, { image }, key),
    ];
    expect(new Set([...ids, ...others]).size).toBe(5);
    // The key is that of POST /v1/jobs.
    expect(await createJob(server.call, { ...imageJob(different), idempotency_key: 'mug' })).toBe(others[2]);

    const [id] = ids as [string];
    await server.call('POST', `/gen3d/jobs/${id}/cancel`);
    const next = await submit(server, { image });
    expect([id, ...others]).not.toContain(next);
    expect(await submit(server, { image })).toBe(next);
    const tooLong = await send(server, { image }, { headers: { 'idempotency-key': 'k'.repeat(257) } });
    expect(await tooLong.json()).toMatchObject({ error: { message: expect.stringMatching(/^idempotency-key: must/) } });
  });
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
