import { HttpResponse, http } from 'msw';
import { describe, expect, test } from 'vitest';
import { InvalidRequestError } from '../src/index.js';
import { client, jobId, misbehavingServer, origin, succeeded, task } from './server.js';

const server = misbehavingServer();

test.each(['', '.', '..'])('the id "%s" is refused before it reads something else', async (id) => {
  let asked = 0;
  server.use(
    http.get(`${origin}/*`, () => {
      asked++;
      return HttpResponse.json({ jobs: [] });
    }),
  );
  for (const read of [client().jobs.retrieve(id), client().jobs.wait(id)]) {
    await expect(read).rejects.toBeInstanceOf(InvalidRequestError);
  }
  expect(asked).toBe(0);
});

describe('list', () => {
  /** Three pages of one job each; keeps the queries it saw. */
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

  test('iterating gives every job of every page, and asks for no page before its turn', async () => {
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

  test('page gives one page as the API sent it, and the one a cursor leads to', async () => {
    threePages();
    const list = client().jobs.list();
    expect(await list.page()).toEqual({ jobs: [task({ progress: 0 })], next_cursor: '1' });
    expect(await list.page('2')).toEqual({ jobs: [task({ progress: 2 })] });
  });

  test('nothing is requested before it is used', () => {
    const queries = threePages();
    client().jobs.list();
    expect(queries).toEqual([]);
  });
});

describe('download', () => {
  const glb = Uint8Array.of(0x67, 0x6c, 0x54, 0x46);

  test('a finished task gives the bytes of its model, fetched without the key', async () => {
    let authorization: string | null = 'not asked';
    server.use(
      http.get(`${origin}/assets/${jobId}/model.glb`, ({ request }) => {
        authorization = request.headers.get('authorization');
        return HttpResponse.arrayBuffer(glb.slice().buffer);
      }),
    );
    expect(await client().download(succeeded)).toEqual(glb);
    expect(authorization).toBeNull();
  });

  test('an id is looked up first, and the thumbnail can be had instead', async () => {
    server.use(
      http.get(`${origin}/v1/jobs/${jobId}`, () => HttpResponse.json(succeeded)),
      http.get(`${origin}/assets/${jobId}/thumbnail.jpg`, () => HttpResponse.arrayBuffer(glb.slice().buffer)),
    );
    expect(await client().download(jobId, { asset: 'thumbnail' })).toEqual(glb);
  });

  test('a job that has no model yet says so', async () => {
    await expect(client().download(task())).rejects.toThrow(`Job ${jobId} is IN_PROGRESS and has no model`);
  });
});

test('deleting the webhook endpoint takes the empty 204 for what it is', async () => {
  server.use(http.delete(`${origin}/v1/webhook-endpoint`, () => new HttpResponse(null, { status: 204 })));
  expect(await client().webhookEndpoint.delete()).toBeUndefined();
});
