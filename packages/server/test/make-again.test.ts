// @module-tag slow
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { decode } from '@gen3d/engine';
import { CreateJobResponse, limits } from '@gen3d/schema';
import { GalleryJob } from '@gen3d/schema/dashboard';
import { expect, test } from 'vitest';
import { ballPhoto } from './ball-photo.js';
import { browsersOn, codeOf } from './dashboard-kit.js';
import { callServer, finishedJob, imageJob, startServer, type TestServer } from './kit.js';

/** A needle, because its model takes half the time of a ball's. */
const needle = ballPhoto(160, 0.1);
const photo = imageJob(needle, { left: needle });
const created = ({ body }: { body: unknown }) => CreateJobResponse.parse(body).job_id;
const job = async (server: TestServer, id: string) =>
  GalleryJob.parse((await server.call('GET', `/gen3d/jobs/${id}`)).body);
const hasPhotos = (server: TestServer, id: string) =>
  ['front', 'left'].map((side) => existsSync(join(server.config.dataDir, 'inputs', `${id}.${side}`)));

async function makeModel(server: TestServer): Promise<string> {
  const id = created(await server.call('POST', '/v1/jobs', photo));
  expect((await finishedJob(server.call, id)).status).toBe('SUCCEEDED');
  return id;
}

/** Expects a kept photo to be an image that is visible to its account and to no one else. */
async function expectPrivatePhoto(server: TestServer, id: string): Promise<void> {
  const path = `/dashboard/api/job-details/${id}/photos/left`;
  const { signIn } = browsersOn(
    () => server,
    () => Promise.reject(new Error('not used')) as never,
  );
  const { cookie = '' } = await signIn({ api_key: server.apiKey });
  const response = await fetch(server.url + path, { headers: { cookie } });
  expect(response.status).toBe(200);
  const { image, transparent } = await decode(new Uint8Array(await response.arrayBuffer()));
  expect(image).toMatchObject({ width: 160, height: 160 });
  expect(transparent).toBe(true);
  expect((await callServer(server.url, 'GET', path, undefined, null)).status).toBe(401);
}

test('a model can be made again from its kept photo, which only its account can see, as a second job that is charged like any other', async () => {
  // Low, so that the balance lasts on a busy machine.
  const rates = { instance: 'own', rates: { own: 0.01 } };
  const server = await startServer({ workers: 1, ...rates });
  const id = await makeModel(server);
  await expectPrivatePhoto(server, id);
  expect(hasPhotos(server, id)).toEqual([true, true]);
  expect(await job(server, id)).toMatchObject({
    can_retry: true,
    views: ['left'],
    warnings: expect.arrayContaining(['photo_not_used_left']),
  });
  const balance = async () => (await server.call('GET', '/v1/balance')).body;
  const before = await balance();

  const again = (headers: Record<string, string> = {}) =>
    server.call('POST', `/gen3d/jobs/${id}/retry`, undefined, undefined, headers);
  const first = created(await again());
  expect(await finishedJob(server.call, first)).toMatchObject({ status: 'SUCCEEDED' });
  expect(await job(server, first)).toMatchObject({ views: ['left'] });
  expect(await balance()).not.toEqual(before);
  const seeded = { 'x-gen3d-sampler': 'seed=7', 'idempotency-key': 'once' };
  const second = created(await again(seeded));
  expect(created(await again(seeded))).toBe(second);
  expect(new Set([id, first, second]).size).toBe(3);
  // The network of this bundle takes no seed, so the seed has arrived.
  expect((await finishedJob(server.call, second)).error?.code).toBe('inference_failed');
  expect(codeOf(await again({ 'x-gen3d-sampler': 'seed=-1' }))).toBe('invalid_request');
  expect((await job(server, id)).model_urls).not.toBeNull();

  expect((await server.call('DELETE', `/gen3d/jobs/${id}`)).status).toBe(204);
  expect(hasPhotos(server, id)).toEqual([false, false]);
});

test('photos can be kept as long as the records of jobs, and no longer', async () => {
  await expect(startServer({ keepPhotosDays: limits.taskRetentionDays + 1 })).rejects.toThrow(/keep/i);
});
