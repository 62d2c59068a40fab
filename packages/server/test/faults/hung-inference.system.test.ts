import { CreateJobResponse, Task } from '@gen3d/schema';
import { expect, test } from 'vitest';
import { asDataUri, ballPhoto, transparentPhoto } from '../ball-photo.js';
import { startServer, until } from '../kit.js';

test('an inference over its time limit ends the attempt and its runner; the third one fails the job, and the next job is done', async () => {
  const server = await startServer({ workers: 1, inferenceLimitSeconds: 0.1 });
  const create = async (photo: Buffer) => {
    const body = { type: 'image-to-3d', input: { image_urls: [asDataUri(photo)] } };
    return CreateJobResponse.parse((await server.call('POST', '/v1/jobs', body)).body).job_id;
  };
  const end = (id: string) =>
    until(async () => {
      const task = Task.parse((await server.call('GET', `/v1/jobs/${id}`)).body);
      return task.finished_at !== null && task;
    }, 45_000);
  // No inference takes only 0.1 s. An image that is too small fails before the inference.
  const slow = await create(ballPhoto());
  const tiny = await create(transparentPhoto(8));
  expect(await end(slow)).toMatchObject({ status: 'FAILED', error: { code: 'internal_error' } });
  expect(await end(tiny)).toMatchObject({ status: 'FAILED', error: { code: 'image_invalid' } });
});
