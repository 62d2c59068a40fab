import { HttpResponse, http } from 'msw';
import { describe, expect, test } from 'vitest';
import { ConnectionError, RateLimitError, RequestTimeoutError, ServerError } from '../src/index.js';
import { client, jobId, jpeg, misbehavingServer, origin, task } from './server.js';

const server = misbehavingServer();
const jobs = `${origin}/v1/jobs`;
const job = `${jobs}/${jobId}`;

/** Answers the first requests with `failures`, the others well; keeps the bodies it saw. */
function failsFirst(...failures: Array<() => Response>) {
  const keys: string[] = [];
  server.use(
    http.post(jobs, async ({ request }) => {
      const { idempotency_key } = (await request.json()) as { idempotency_key: string };
      keys.push(idempotency_key);
      return failures.shift()?.() ?? HttpResponse.json({ job_id: jobId }, { status: 202 });
    }),
  );
  return keys;
}

const after = (status: number, seconds: string) => () =>
  new HttpResponse(null, { status, headers: { 'retry-after': seconds } });

describe('creating a job', () => {
  test('a create that is retried sends one idempotency key every time', async () => {
    const keys = failsFirst(after(429, '0'), after(502, '0'), after(503, '0'));
    expect(await client().jobs.create({ image: jpeg })).toEqual({ job_id: jobId });
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^sdk-[0-9a-f]{32}$/);
  });

  test('two creates have two idempotency keys', async () => {
    const keys = failsFirst();
    const gen3d = client();
    await gen3d.jobs.create({ image: jpeg });
    await gen3d.jobs.create({ image: jpeg });
    expect(new Set(keys).size).toBe(2);
  });

  test("the caller's own idempotency key is sent as it is", async () => {
    const keys = failsFirst(() => HttpResponse.error());
    await client().jobs.create({ image: jpeg, idempotencyKey: 'order-1' });
    expect(keys).toEqual(['order-1', 'order-1']);
  });
});

test('an aborted signal ends a create that still reads its image', async () => {
  const reason = new Error('the user left');
  const stalled = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => {}) });
  const abort = new AbortController();
  setTimeout(() => abort.abort(reason), 20);
  await expect(client().jobs.create({ image: stalled }, { signal: abort.signal })).rejects.toBe(reason);
  await expect(client().jobs.create({ image: jpeg }, { signal: abort.signal })).rejects.toBe(reason);
});

describe('reading a job', () => {
  test('a 429 is tried again no sooner than Retry-After says', async () => {
    const times: number[] = [];
    server.use(
      http.get(job, () => {
        times.push(performance.now());
        return times.length === 1 ? after(429, '1')() : HttpResponse.json(task());
      }),
    );
    await client().jobs.retrieve(jobId);
    expect(times[1]! - times[0]!).toBeGreaterThan(990);
  });

  test.each([500, 501, 520, 599])('a %i is tried again, as every 5xx', async (status) => {
    server.use(
      http.get(job, after(status, '0'), { once: true }),
      http.get(job, () => HttpResponse.json(task())),
    );
    expect(await client().jobs.retrieve(jobId)).toEqual(task());
  });

  test.each([400, 404, 409, 418])('a %i is not tried again', async (status) => {
    let asked = 0;
    server.use(
      http.get(job, () => {
        asked += 1;
        return after(status, '0')();
      }),
    );
    await expect(client().jobs.retrieve(jobId)).rejects.toMatchObject({ status });
    expect(asked).toBe(1);
  });

  test('a server that asks to stay away for longer than a minute is not asked again before', async () => {
    let asked = 0;
    server.use(
      http.get(job, () => {
        asked += 1;
        return after(503, '3600')();
      }),
    );
    await expect(client().jobs.retrieve(jobId)).rejects.toMatchObject({
      name: 'ServerError',
      status: 503,
      retryAfterMs: 3_600_000,
    });
    expect(asked).toBe(1);
  });

  test('a 429 that never ends becomes a RateLimitError', async () => {
    server.use(http.get(job, after(429, '0')));
    const error = await client()
      .jobs.retrieve(jobId)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ status: 429, code: 'rate_limited' });
  });

  test('maxRetries 0 asks once', async () => {
    let asked = 0;
    server.use(
      http.get(job, () => {
        asked += 1;
        return after(503, '0')();
      }),
    );
    await expect(client({ maxRetries: 0 }).jobs.retrieve(jobId)).rejects.toBeInstanceOf(ServerError);
    expect(asked).toBe(1);
  });

  test('an answer cut in the middle of its body is fetched again', async () => {
    let asked = 0;
    server.use(
      http.get(job, () => {
        asked += 1;
        return asked === 1 ? new HttpResponse(brokenStream('{"task_id":')) : HttpResponse.json(task());
      }),
    );
    expect(await client().jobs.retrieve(jobId)).toEqual(task());
    expect(asked).toBe(2);
  });

  test('an answer that stops in the middle of its body runs into the timeout', async () => {
    server.use(http.get(job, () => new HttpResponse(new ReadableStream({ pull: () => new Promise(() => {}) }))));
    const error = await client({ timeoutMs: 50, maxRetries: 0 })
      .jobs.retrieve(jobId)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RequestTimeoutError);
    expect(error).toMatchObject({ code: 'timeout', path: `/v1/jobs/${jobId}`, timeoutMs: 50 });
  });

  test('a broken connection becomes a ConnectionError that names the server', async () => {
    server.use(http.get(job, () => HttpResponse.error()));
    const error = await client({ maxRetries: 0 })
      .jobs.retrieve(jobId)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ code: 'connection_failed', message: expect.stringContaining(origin) });
  });

  test('broken JSON becomes a ServerError and is not asked for again', async () => {
    let asked = 0;
    server.use(
      http.get(job, () => {
        asked += 1;
        return new HttpResponse('{"task_id": "01J', { headers: { 'x-request-id': 'req-7' } });
      }),
    );
    const error = await client()
      .jobs.retrieve(jobId)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ServerError);
    expect(error).toMatchObject({ code: 'invalid_response', requestId: 'req-7' });
    expect(asked).toBe(1);
  });

  test('an aborted signal rejects with its own reason, also between two tries', async () => {
    server.use(http.get(job, after(503, '30')));
    const abort = new AbortController();
    const reason = new Error('the user left');
    setTimeout(() => abort.abort(reason), 50);
    await expect(client().jobs.retrieve(jobId, { signal: abort.signal })).rejects.toBe(reason);
  });
});

describe('what must not happen twice', () => {
  test('a rotation whose answer was lost is not repeated', async () => {
    let asked = 0;
    server.use(
      http.post(`${origin}/v1/webhook-endpoint/rotate`, () => {
        asked += 1;
        return HttpResponse.error();
      }),
    );
    await expect(client().webhookEndpoint.rotate()).rejects.toBeInstanceOf(ConnectionError);
    expect(asked).toBe(1);
  });

  test('a rotation that was turned away with 429 is, no sooner than Retry-After says', async () => {
    const times: number[] = [];
    server.use(
      http.post(`${origin}/v1/webhook-endpoint/rotate`, () => {
        times.push(performance.now());
        return times.length === 1 ? after(429, '1')() : HttpResponse.json({ secret: 'whsec_new' });
      }),
    );
    expect(await client().webhookEndpoint.rotate()).toEqual({ secret: 'whsec_new' });
    expect(times[1]! - times[0]!).toBeGreaterThan(990);
  });
});

function brokenStream(start: string): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(start));
    },
    pull(controller) {
      controller.error(new Error('the connection broke'));
    },
  });
}
