import { expect, test } from 'vitest';
import { ballPhoto, transparentPhoto } from '../ball-photo.js';
import { createJob, finishedJob, imageJob, startServer } from '../kit.js';

test('an inference over its time limit ends the attempt and its runner; the third one fails the job, and the next job is done', async () => {
  const server = await startServer({ workers: 1, inferenceLimitSeconds: 0.1 });
  // No inference takes only 0.1 s. An image that is too small fails before the inference.
  const slow = await createJob(server.call, imageJob(ballPhoto()));
  const tiny = await createJob(server.call, imageJob(transparentPhoto(8)));
  expect(await finishedJob(server.call, slow)).toMatchObject({ status: 'FAILED', error: { code: 'internal_error' } });
  expect(await finishedJob(server.call, tiny)).toMatchObject({ status: 'FAILED', error: { code: 'image_invalid' } });
});
