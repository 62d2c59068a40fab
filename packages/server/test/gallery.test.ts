import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync, watch, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { CreateJobResponse, ErrorBody, encodeLabel, publicTestKey } from '@gen3d/schema';
import { GalleryJob, GalleryPage } from '@gen3d/schema/dashboard';
import { describe, expect, onTestFinished, test } from 'vitest';
import { dayMs } from '../src/base/time.js';
import { charge } from '../src/data/accounts/ledger.js';
import type { Db } from '../src/data/db/database.js';
import { packReceived, unpack } from '../src/data/inputs/stored-image.js';
import type { NewJob } from '../src/data/jobs/job-store.js';
import { asDataUri, ballPhoto } from './ball-photo.js';
import { type Caller, photoJob, photoUrl, sharedServer, withImages, withViews } from './contract/kit.js';
import { browsersOn, codeOf } from './dashboard-kit.js';
import { databaseOf, newJob, until } from './kit.js';

const { server, admin, newCaller } = sharedServer();
const { signIn } = browsersOn(server, admin);

const withDatabase = <T>(work: (db: Db) => Promise<T>) => work(databaseOf(server()));

/** Creates a job with the header of a label, and returns the response. */
const send = (apiKey: string, header: string | undefined, body: unknown = photoJob()) =>
  server().call('POST', '/v1/jobs', body, apiKey, header === undefined ? {} : { 'x-gen3d-label': header });

async function create({ apiKey }: Caller, label: string, body?: unknown): Promise<string> {
  const response = await send(apiKey, encodeLabel(label), body);
  expect(response.status).toBe(202);
  return CreateJobResponse.parse(response.body).job_id;
}

/** Calls a route of the gallery, which the OpenAPI document does not contain. */
const call = ({ apiKey }: Caller, method: string, path: string, body?: unknown) =>
  server().call(method, `/gen3d/jobs${path}`, body, apiKey);

async function page(caller: Caller, query = ''): Promise<GalleryPage> {
  const response = await call(caller, 'GET', query);
  expect(response.status).toBe(200);
  return GalleryPage.parse(response.body);
}

const labelsOf = ({ jobs }: GalleryPage) => jobs.map(({ label }) => label);
const job = async (caller: Caller, id: string) => GalleryJob.parse((await call(caller, 'GET', `/${id}`)).body);
const finish = (id: string, status: 'SUCCEEDED' | 'FAILED' | 'CANCELED', fields: object = {}) =>
  withDatabase((db) =>
    db
      .updateTable('jobs')
      .set({ status, finished_at: Date.now(), ...fields })
      .where('id', '=', id)
      .execute(),
  );

describe('a label', () => {
  test('is stored with the job, and the task object does not change', async () => {
    const caller = await newCaller();
    const id = await create(caller, 'Täßchen 茶 100 %.jpg');
    expect(await job(caller, id)).toMatchObject({ task_id: id, label: 'Täßchen 茶 100 %.jpg' });
    expect(Object.keys(await caller.task(id))).toHaveLength(9);
  });

  test('is one line of at most 200 characters', async () => {
    const caller = await newCaller();
    const label = async (header: string) => {
      const response = await send(caller.apiKey, header);
      return (await job(caller, CreateJobResponse.parse(response.body).job_id)).label;
    };
    expect(await label(encodeURIComponent(' a\u0000\tb\u001B[2J\u202Ec\u2028d '))).toBe('a b [2Jc d');
    expect(await label(encodeURIComponent(`a\u200B\u200F\u061C\u00ADe${'\u0301'.repeat(200)}`))).toBe(
      `ae${'\u0301'.repeat(4)}`,
    );
    expect(await label(encodeURIComponent('👍'.repeat(201)))).toBe('👍'.repeat(200));
    expect(await label('%20')).toBe('photo.jpg');
  });

  test('that is not percent-encoded UTF-8 is refused', async () => {
    const { apiKey } = await newCaller();
    for (const header of ['50%', '%ff', 'caf\u00E9']) {
      const response = await send(apiKey, header);
      expect(response.status).toBe(400);
      expect(ErrorBody.parse(response.body).error.message).toContain('x-gen3d-label');
    }
  });

  test('is the last part of the URL by default, and null for an image without a name', async () => {
    const caller = await newCaller();
    const named = await caller.create(withImages('https://example.com/a/Mein%20Becher.jpg/?size=2'));
    expect((await job(caller, named)).label).toBe('Mein Becher.jpg');
    const notUtf8 = await caller.create(withImages('https://example.com/%ff.jpg'));
    expect((await job(caller, notUtf8)).label).toBe('%ff.jpg');
    const unnamed = await caller.create(withImages('https://example.com'));
    expect((await job(caller, unnamed)).label).toBeNull();
    const inline = await caller.create(withImages(asDataUri(ballPhoto())));
    expect((await job(caller, inline)).label).toBeNull();
  });

  test('is not stored for the public test key, whose jobs everyone can list', async () => {
    const response = await send(publicTestKey, 'private.jpg');
    const { job_id } = CreateJobResponse.parse(response.body);
    const found = await server().call('GET', `/gen3d/jobs/${job_id}`, undefined, publicTestKey);
    expect(GalleryJob.parse(found.body).label).toBeNull();
    for (const path of [`/${job_id}/cancel`, `/${job_id}/retry`])
      expect((await server().call('POST', `/gen3d/jobs${path}`, undefined, publicTestKey)).status).toBe(403);
  });
});

describe('the list of jobs with labels', () => {
  test('finds a part of the label in any case, and the start of an id', async () => {
    const caller = await newCaller();
    const ids = [];
    for (const label of ['Teapot.jpg', 'ÄRMEL_1.png', '100%.jpg']) ids.push(await create(caller, label));
    const found = async (text: string) => labelsOf(await page(caller, `?search=${encodeURIComponent(text)}`));
    expect(await found('POT')).toEqual(['Teapot.jpg']);
    expect(await found('ärmel')).toEqual(['ÄRMEL_1.png']);
    expect(await found('%')).toEqual(['100%.jpg']);
    expect(await found('_')).toEqual(['ÄRMEL_1.png']);
    expect(await found('\\')).toEqual([]);
    expect(await found(ids[0]!.toLowerCase())).toEqual(['Teapot.jpg']);
    expect(labelsOf(await page(caller, `?id=${ids[1]}`))).toEqual(['ÄRMEL_1.png']);
    expect((await page(caller, `?id=${ids[0]!.slice(0, 6).toLowerCase()}`)).jobs).toHaveLength(3);
  });

  test('begins with the newest, and pages without gaps', async () => {
    const caller = await newCaller();
    for (const label of ['b', 'C', 'a', 'B']) await create(caller, label);
    const all = async (filter: string) => {
      const labels: (string | null)[] = [];
      for (let cursor: string | undefined = ''; cursor !== undefined; ) {
        const next: GalleryPage = await page(caller, `?limit=2${filter}${cursor && `&cursor=${cursor}`}`);
        labels.push(...labelsOf(next));
        cursor = next.next_cursor;
      }
      return labels;
    };
    expect(await all('')).toEqual(['B', 'a', 'C', 'b']);
    expect(await all('&search=b')).toEqual(['B', 'b']);
  });

  test('filters by group of statuses, and counts the jobs of each that match the search', async () => {
    const caller = await newCaller();
    const ids: string[] = [];
    for (const label of ['x1', 'x2', 'x3', 'x4', 'other']) ids.push(await create(caller, label));
    await finish(ids[0]!, 'SUCCEEDED');
    await finish(ids[1]!, 'FAILED');
    await finish(ids[2]!, 'CANCELED');
    const { counts } = await page(caller);
    expect(counts).toEqual({ in_progress: 2, done: 1, failed: 2 });
    expect((await page(caller, '?search=x&group=done')).counts).toEqual({ in_progress: 1, done: 1, failed: 2 });
    expect(labelsOf(await page(caller, '?group=in_progress'))).toEqual(['other', 'x4']);
    expect(labelsOf(await page(caller, '?group=done'))).toEqual(['x1']);
    expect(labelsOf(await page(caller, '?group=failed'))).toEqual(['x3', 'x2']);
    expect(labelsOf(await page(caller, '?status=FAILED'))).toEqual(['x2']);
  });

  test('shows the time of the work and of inference, and the reason of a failure', async () => {
    const caller = await newCaller();
    const id = await create(caller, 'cup.jpg');
    await finish(id, 'SUCCEEDED', { stage_ms: '{"prepare":250,"bake":1500}', warnings: '["cut_off"]' });
    const charged = { accountId: caller.accountId, jobId: id, price: 0, instance: 'cpu', inferenceMs: 1_400 };
    await withDatabase((db) => charge(db, charged, 0));
    expect(await job(caller, id)).toMatchObject({ work_seconds: 1.75, inference_seconds: 1.4, warnings: ['cut_off'] });
    const failed = await create(caller, 'fog.jpg');
    await finish(failed, 'FAILED', { error_code: 'no_foreground', error_message: 'There is no object' });
    expect(await job(caller, failed)).toMatchObject({
      error: { code: 'no_foreground', message: 'There is no object' },
      work_seconds: null,
      warnings: [],
      can_cancel: false,
      can_retry: true,
    });
  });

  test('refuses invalid queries, and the cursors of others', async () => {
    const [caller, other] = [await newCaller(), await newCaller()];
    const limits = ['0', '101', '1e1', '0x10', '%205', ''].map((limit) => `?limit=${limit}`);
    for (const query of ['?group=open', '?status=no', '?id=-', ...limits]) {
      expect((await call(caller, 'GET', query)).status).toBe(400);
    }
    for (const label of ['a', 'b']) await create(other, label);
    const { next_cursor } = await page(other, '?limit=1');
    expect(codeOf(await call(caller, 'GET', `?cursor=${next_cursor}`))).toBe('invalid_cursor');
  });

  test('searches only the ids of the test key’s jobs, which have no labels, and does not count them', async () => {
    const created = await Promise.all([1, 2].map(() => send(publicTestKey, undefined)));
    const ids = created.map(({ body }) => CreateJobResponse.parse(body).job_id);
    const list = async (query: string) => {
      const { status, body } = await server().call('GET', `/gen3d/jobs?${query}`, undefined, publicTestKey);
      expect(status).toBe(200);
      return GalleryPage.parse(body);
    };
    const idsOf = ({ jobs }: GalleryPage) => jobs.map(({ task_id }) => task_id);
    expect(idsOf(await list(`search=${ids[0]!.toLowerCase()}`))).toEqual([ids[0]]);
    expect(idsOf(await list('search=photo'))).toEqual([]);
    expect((await list('')).counts).toBeUndefined();
  });

  test('finds nothing for text that no id or label contains, such as unpaired surrogates and U+0000', async () => {
    const caller = await newCaller();
    const id = await create(caller, "a'b");
    expect(labelsOf(await page(caller, `?search=${encodeURIComponent("'")}`))).toEqual(["a'b"]);
    for (const text of ['%00', '%ED%A0%80', "%27%20or%20''='", '%ff', 'a%0Db']) {
      expect(labelsOf(await page(caller, `?search=${text}`))).toEqual([]);
    }
    for (const text of ['%00', '%25', id.toLowerCase()]) {
      expect((await call(caller, 'POST', `/${text}/cancel`)).status).toBe(404);
      expect((await call(caller, 'POST', `/${text}/retry`)).status).toBe(404);
    }
    expect(await job(caller, id)).toMatchObject({ status: 'PENDING' });
  });

  test('is also a route of the dashboard, for the account of the session', async () => {
    const caller = await newCaller();
    const id = await create(caller, 'lamp.webp');
    const browser = await signIn({ api_key: caller.apiKey });
    const { jobs } = GalleryPage.parse((await browser.call('GET', '/gallery')).body);
    expect(jobs).toMatchObject([{ task_id: id, label: 'lamp.webp' }]);
    expect((await server().call('GET', '/gen3d/jobs', undefined, null)).status).toBe(403);
  });
});

describe('canceling a job', () => {
  test('ends it without a charge while it waits or is in inference, and is refused afterwards', async () => {
    const caller = await newCaller();
    const id = await create(caller, 'wrong.jpg');
    const canceled = await call(caller, 'POST', `/${id}/cancel`);
    expect(canceled.status).toBe(200);
    expect(GalleryJob.parse(canceled.body)).toMatchObject({ status: 'CANCELED', can_cancel: false, can_retry: true });
    expect((await caller.task(id)).status).toBe('CANCELED');
    expect((await caller.call('GET', '/v1/balance')).body).toMatchObject({ balance_usd: 10 });
    expect(codeOf(await call(caller, 'POST', `/${id}/cancel`))).toBe('not_cancelable');
    const running = await create(caller, 'running.jpg');
    await withDatabase((db) =>
      db.updateTable('jobs').set({ status: 'IN_PROGRESS' }).where('id', '=', running).execute(),
    );
    expect(await job(caller, running)).toMatchObject({ can_cancel: true });
    expect((await call(caller, 'POST', `/${running}/cancel`)).body).toMatchObject({ status: 'CANCELED' });
  });

  test('keeps the photos of only the newest 50 canceled jobs, also if they are canceled at the same time', async () => {
    const caller = await newCaller();
    const body = withImages(asDataUri(ballPhoto()));
    const ids: string[] = [];
    for (let i = 0; i < 51; i++) ids.push(await create(caller, `${i}.png`, body));
    const canceled = await Promise.all(ids.toReversed().map((id) => call(caller, 'POST', `/${id}/cancel`)));
    expect(new Set(canceled.map(({ status }) => status))).toEqual(new Set([200]));
    const kept = readdirSync(join(server().config.dataDir, 'inputs'));
    expect(ids.filter((id) => kept.includes(`${id}.front`))).toEqual(ids.slice(1));
  });

  test('is refused for the jobs of other accounts', async () => {
    const [caller, other] = [await newCaller(), await newCaller()];
    const id = await create(other, 'theirs');
    expect(codeOf(await call(caller, 'POST', `/${id}/cancel`))).toBe('not_found');
    expect((await other.task(id)).status).toBe('PENDING');
  });
});

describe('the photo of a job', () => {
  test('is a download for the dashboard of its account, and not for others', async () => {
    const [caller, other] = [await newCaller(), await newCaller()];
    const photo = ballPhoto();
    const id = await create(caller, 'ball.png', withImages(asDataUri(photo)));
    const photoFor = async ({ apiKey }: Caller, side = 'front') => {
      const { cookie = '' } = await signIn({ api_key: apiKey });
      return fetch(`${server().url}/dashboard/api/job-details/${id}/photos/${side}`, { headers: { cookie } });
    };
    await finish(id, 'FAILED');
    expect((await photoFor(caller, 'left')).status).toBe(204);
    expect((await photoFor(caller, 'top')).status).toBe(404);
    const own = await photoFor(caller);
    expect(Buffer.from(await own.arrayBuffer())).toEqual(photo);
    expect(Object.fromEntries(own.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    expect((await photoFor(other)).status).toBe(404);
    const { status } = await server().call(
      'GET',
      `/dashboard/api/job-details/${id}/photos/front`,
      undefined,
      caller.apiKey,
    );
    expect(status).toBe(401);
  });
});

test('of the readers of a large photo who pause, a few hold it in memory, and they delay only their account', {
  tags: 'slow',
}, async () => {
  const [caller, other] = [await newCaller(), await newCaller()];
  const photo = randomBytes(13 * 1024 ** 2);
  const requestPhoto = async (owner: Caller) => {
    const id = await create(owner, 'noise.png', withImages(asDataUri(ballPhoto())));
    writeFileSync(join(server().config.dataDir, 'inputs', `${id}.front`), packReceived(photo));
    const { cookie = '' } = await signIn({ api_key: owner.apiKey });
    return { path: `/dashboard/api/job-details/${id}/photos/front`, cookie };
  };
  const { path, cookie } = await requestPhoto(caller);
  const { host, hostname, port } = new URL(server().url);
  const before = process.memoryUsage().arrayBuffers;
  const readers = Array.from({ length: 24 }, () => {
    const socket = connect(Number(port), hostname).pause();
    onTestFinished(() => void socket.destroy());
    socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\ncookie: ${cookie}\r\nconnection: close\r\n\r\n`);
    return socket;
  });
  const theirs = await requestPhoto(other);
  const { size } = await (await fetch(server().url + theirs.path, { headers: { cookie: theirs.cookie } })).blob();
  expect(size).toBe(photo.length);
  // Includes what this test has read itself and the collector has not freed.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan((readers.length * photo.length) / 4);
  // The waiting ones have their turn when the others have read or are gone.
  const received = readers.map(async (socket) => {
    let bytes = 0;
    for await (const part of socket) bytes += (part as Buffer).length;
    return bytes;
  });
  for (const bytes of await Promise.all(received)) expect(bytes).toBeGreaterThan(photo.length);
});

test('a shared model has a public page until its owner removes it or deletes the model', async () => {
  const [caller, other] = [await newCaller(), await newCaller()];
  const id = await create(caller, '<b>"mug"</b>.png', withImages(asDataUri(ballPhoto())));
  const share = (owner: Caller) => call(owner, 'PUT', `/${id}/share`);
  expect((await share(caller)).status).toBe(404);
  await finish(id, 'SUCCEEDED', { model_key: `${id}/k/model.glb`, thumbnail_key: `${id}/k/thumbnail.jpg` });
  expect((await share(other)).status).toBe(404);
  const shared = GalleryJob.parse((await share(caller)).body);
  expect(GalleryJob.parse((await share(caller)).body).share_path).toBe(shared.share_path);
  const page = () => fetch(server().url + shared.share_path);
  const html = await (await page()).text();
  expect(html).toContain('<title>&#60;b&#62;&#34;mug&#34;&#60;/b&#62;.png</title>');
  expect(html).toContain(`<meta property="og:image" content="${shared.thumbnail_url}" />`);
  expect(html).toContain(`src="${shared.model_urls?.glb}"`);
  for (const secret of [caller.accountId, '{{']) expect(html).not.toContain(secret);
  await call(other, 'DELETE', `/${id}/share`);
  expect((await page()).status).toBe(200);
  expect((await call(caller, 'DELETE', `/${id}/share`)).status).toBe(204);
  expect((await page()).status).toBe(404);
  shared.share_path = GalleryJob.parse((await share(caller)).body).share_path;
  expect((await page()).status).toBe(200);
  expect((await call(caller, 'DELETE', `/${id}`)).status).toBe(204);
  expect((await page()).status).toBe(404);
});

describe('trying a failed job again', () => {
  const failedJob = (caller: Caller, fields: Partial<NewJob>) =>
    withDatabase((db) => newJob(db, caller.accountId, { status: 'FAILED', finished_at: Date.now(), ...fields }));

  test('creates a job with the same photos and label, once', async () => {
    const caller = await newCaller();
    const [photo, back] = [ballPhoto(), ballPhoto(90)];
    const views = { back: asDataUri(back), right: photoUrl };
    const id = await create(caller, 'ball.png', withViews(views, asDataUri(photo)));
    expect(codeOf(await call(caller, 'POST', `/${id}/retry`))).toBe('not_retryable');
    await finish(id, 'FAILED');
    const retried = await call(caller, 'POST', `/${id}/retry`);
    expect(retried.status).toBe(202);
    const { job_id } = CreateJobResponse.parse(retried.body);
    expect(job_id).not.toBe(id);
    expect(await job(caller, job_id)).toMatchObject({ label: 'ball.png', status: 'PENDING', views: ['back', 'right'] });
    const stored = (side: string) => unpack(readFileSync(join(server().config.dataDir, 'inputs', `${job_id}.${side}`)));
    expect([stored('front'), stored('back')]).toEqual([photo, back]);
    const { image_urls } = await withDatabase((db) =>
      db.selectFrom('jobs').select('image_urls').where('id', '=', job_id).executeTakeFirstOrThrow(),
    );
    expect(image_urls).toBe(JSON.stringify({ right: photoUrl }));
    expect((await call(caller, 'POST', `/${id}/retry`)).body).toEqual({ job_id });
  });

  test('creates one job and stores its photo once for 60 concurrent requests', async () => {
    const caller = await newCaller();
    const id = await create(caller, 'ball.png', withImages(asDataUri(ballPhoto())));
    await finish(id, 'CANCELED');
    const inputs = join(server().config.dataDir, 'inputs');
    const stored: string[] = [];
    const watcher = watch(inputs, (_, name) => void stored.push(String(name)));
    const retried = await Promise.all(Array.from({ length: 60 }, () => call(caller, 'POST', `/${id}/retry`)));
    await until(async () => stored.length > 0);
    watcher.close();
    const ids = new Set(retried.map(({ body }) => CreateJobResponse.parse(body).job_id));
    expect([...ids]).toHaveLength(1);
    expect(new Set(stored)).toEqual(new Set([id, ...ids].map((each) => `${each}.front`)));
    // Another name of the same file: the photo is neither read into memory nor written again.
    const inodeOf = (each: string) => statSync(join(inputs, `${each}.front`)).ino;
    expect(inodeOf([...ids][0]!)).toBe(inodeOf(id));
    expect((await caller.list()).jobs).toHaveLength(2);
  });

  test('returns a running retry for each job of the chain, and creates one more once the last has failed', async () => {
    const caller = await newCaller();
    const id = await failedJob(caller, { image_urls: JSON.stringify({ front: photoUrl }) });
    // The keys of retries are not those of the account.
    await caller.create({ ...photoJob(), idempotency_key: `retry-${id}` });
    const retry = async (of = id) => CreateJobResponse.parse((await call(caller, 'POST', `/${of}/retry`)).body).job_id;
    const first = await retry();
    expect((await caller.list()).jobs).toHaveLength(3);
    await finish(first, 'FAILED');
    const [second, ...others] = await Promise.all([retry(), retry(first), retry()]);
    expect(second).not.toBe(first);
    expect(new Set(others)).toEqual(new Set([second]));
    await finish(second!, 'CANCELED');
    const third = await retry();
    expect([first, second]).not.toContain(third);
    await finish(third, 'SUCCEEDED');
    expect(await retry()).toBe(third);
    expect((await caller.list()).jobs).toHaveLength(5);
  });

  test('is refused for jobs of others, jobs without a stored photo, and with too little balance', async () => {
    const [caller, other] = [await newCaller(), await newCaller(0.5)];
    const theirs = await failedJob(other, {});
    expect(codeOf(await call(caller, 'POST', `/${theirs}/retry`))).toBe('not_found');
    expect(codeOf(await call(other, 'POST', `/${theirs}/retry`))).toBe('insufficient_balance');
    const lost = await failedJob(caller, { image_urls: null });
    expect(codeOf(await call(caller, 'POST', `/${lost}/retry`))).toBe('not_retryable');
    const old = await failedJob(caller, { finished_at: Date.now() - 8 * dayMs });
    expect(codeOf(await call(caller, 'POST', `/${old}/retry`))).toBe('not_retryable');
  });
});
