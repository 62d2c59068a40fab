import { HttpResponse, http } from 'msw';
import { describe, expect, test } from 'vitest';
import { InvalidRequestError } from '../src/index.js';
import { client, jobId, jpeg, misbehavingServer, origin, succeeded, task } from './server.js';

const server = misbehavingServer();

test.each(['', '.', '..'])('the id "%s" is rejected without a request', async (id) => {
  let requests = 0;
  server.use(
    http.get(`${origin}/*`, () => {
      requests++;
      return HttpResponse.json({ jobs: [] });
    }),
  );
  for (const read of [client().jobs.retrieve(id), client().jobs.wait(id)]) {
    await expect(read).rejects.toBeInstanceOf(InvalidRequestError);
  }
  expect(requests).toBe(0);
});

test('options of the bundle are sent with the job, and otherwise no options', async () => {
  const bodies: unknown[] = [];
  server.use(
    http.post(`${origin}/v1/jobs`, async ({ request }) => {
      bodies.push(await request.json());
      return HttpResponse.json({ job_id: jobId }, { status: 202 });
    }),
    http.get(`${origin}/v1/jobs/${jobId}`, () => HttpResponse.json(succeeded)),
  );
  await client().generate(jpeg, { options: { quality: 1024 } });
  await client().jobs.create({ image: jpeg });
  expect(bodies).toMatchObject([{ options: { quality: 1024 } }, {}]);
  expect(bodies[1]).not.toHaveProperty('options');
});

describe('list', () => {
  /** Serves three pages of one job each. @returns the queries it has received */
  function threePages() {
    const queries: string[] = [];
    server.use(
      http.get(`${origin}/v1/jobs`, ({ request }) => {
        const { search, searchParams } = new URL(request.url);
        queries.push(search);
        const page = Number(searchParams.get('cursor') ?? 0);
        const jobs = [task({ progress: page })];
        return HttpResponse.json(page < 2 ? { jobs, next_cursor: String(page + 1) } : { jobs });
      }),
    );
    return queries;
  }

  test('iterates over all jobs of all pages, and requests each page only when it is needed', async () => {
    const queries = threePages();
    const seen: number[] = [];
    for await (const { progress } of client().jobs.list({ status: 'IN_PROGRESS', limit: 1 })) {
      seen.push(progress);
      expect(queries).toHaveLength(seen.length);
    }
    expect(seen).toEqual([0, 1, 2]);
    expect(queries[0]).toBe('?status=IN_PROGRESS&limit=1');
    expect(queries[2]).toBe('?status=IN_PROGRESS&limit=1&cursor=2');
  });

  test('page returns one page, the first or the one after a cursor', async () => {
    threePages();
    const list = client().jobs.list();
    expect(await list.page()).toEqual({ jobs: [task({ progress: 0 })], next_cursor: '1' });
    expect(await list.page('2')).toEqual({ jobs: [task({ progress: 2 })] });
  });
});

describe('download', () => {
  const glb = Uint8Array.of(0x67, 0x6c, 0x54, 0x46);

  test('returns the bytes of the model of a finished task, fetched without the API key', async () => {
    let authorization: string | null = 'not requested';
    server.use(
      http.get(`${origin}/assets/${jobId}/model.glb`, ({ request }) => {
        authorization = request.headers.get('authorization');
        return HttpResponse.arrayBuffer(glb.slice().buffer);
      }),
    );
    expect(await client().download(succeeded)).toEqual(glb);
    expect(authorization).toBeNull();
  });

  test('also accepts an id, and returns the thumbnail on request', async () => {
    server.use(
      http.get(`${origin}/v1/jobs/${jobId}`, () => HttpResponse.json(succeeded)),
      http.get(`${origin}/assets/${jobId}/thumbnail.jpg`, () => HttpResponse.arrayBuffer(glb.slice().buffer)),
    );
    expect(await client().download(jobId, { asset: 'thumbnail' })).toEqual(glb);
  });

  test('of a running job fails', async () => {
    await expect(client().download(task())).rejects.toThrow(`Job ${jobId} is IN_PROGRESS and has no model`);
  });
});

test('the webhook endpoint has its pause, which is in the headers', async () => {
  const endpoint = { url: 'https://me.test/', secret: 'whsec_1' };
  const headers = {
    'X-Gen3d-Failing-Since': '2026-01-01T00:00:00.000Z',
    'X-Gen3d-Paused-Until': '2026-01-03T00:00:00.000Z',
  };
  server.use(http.get(`${origin}/v1/webhook-endpoint`, () => HttpResponse.json(endpoint, { headers })));
  expect(await client().webhookEndpoint.get()).toEqual({
    ...endpoint,
    failing_since: '2026-01-01T00:00:00.000Z',
    paused_until: '2026-01-03T00:00:00.000Z',
  });
});
