import type { Task } from '@gen3d/schema';
import { HttpResponse, http } from 'msw';
import { setupServer } from 'msw/node';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { Gen3d, type Gen3dOptions } from '../src/index.js';

export const origin = 'http://gen3d.test';
export const jobId = '01J9ZC3W8Q4V5N6M7P8R9S0T1A';

export const task = (change: Partial<Task> = {}): Task => ({
  task_id: jobId,
  type: 'image-to-3d',
  status: 'IN_PROGRESS',
  progress: 30,
  created_at: '2026-01-02T03:04:05.000Z',
  finished_at: null,
  ...change,
});

export const succeeded = task({
  status: 'SUCCEEDED',
  progress: 100,
  model_urls: { glb: `${origin}/assets/${jobId}/model.glb` },
  thumbnail_url: `${origin}/assets/${jobId}/thumbnail.jpg`,
  finished_at: '2026-01-02T03:04:15.000Z',
});

/** A fake server for failures, without streams of events. Normal responses are tested with the real server. */
export function misbehavingServer() {
  const withoutStreams = () =>
    HttpResponse.json({ error: { code: 'not_found', message: 'No such route' } }, { status: 404 });
  const server = setupServer(http.get(`${origin}/gen3d/jobs/:id/events`, withoutStreams));
  beforeAll(() => server.listen({ onUnhandledRequest: 'error' }));
  afterEach(() => server.resetHandlers());
  afterAll(() => server.close());
  return server;
}

export const client = (options: Gen3dOptions = {}) => new Gen3d({ apiKey: 'gen3d_key', baseUrl: origin, ...options });

/** The signature of a JPEG and a few bytes. */
export const jpeg = Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 1, 2, 3, 4);
