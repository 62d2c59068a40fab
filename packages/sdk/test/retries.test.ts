import { HttpResponse, http } from 'msw';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ConnectionError, RateLimitError, ServerError } from '../src/index.js';
import { client, jobId, jpeg, misbehavingServer, origin, succeeded, task } from './server.js';

const server = misbehavingServer();
const jobs = `${origin}/v1/jobs`;
const job = `${jobs}/${jobId}`;
const rotate = `${origin}/v1/webhook-endpoint/rotate`;

/** Serves a route. `respond` receives the number of the request, from 1. @returns the times of the requests */
function serve(method: 'get' | 'post', url: string, respond: (request: number) => Response): number[] {
  const times: number[] = [];
  server.use(http[method](url, () => respond(times.push(performance.now()))));
  return times;
}

/** Creates a job on each request after `failures`. @returns the idempotency keys of the requests */
function createAfter(...failures: Array<() => Response>): string[] {
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

const retryAfter = (status: number, seconds: string) => () =>
  new HttpResponse(null, { status, headers: { 'retry-after': seconds } });

const errorOf = (call: Promise<unknown>) => call.catch((thrown: unknown) => thrown);

describe('create', () => {
  test('sends the same idempotency key with every retry', async () => {
    const keys = createAfter(retryAfter(429, '0'), retryAfter(502, '0'), retryAfter(503, '0'));
    expect(await client().jobs.create({ image: jpeg })).toEqual({ job_id: jobId });
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^sdk-[0-9a-f]{32}$/);
  });

  test('uses another idempotency key for each call', async () => {
    const keys = createAfter();
    const gen3d = client();
    await gen3d.jobs.create({ image: jpeg });
    await gen3d.jobs.create({ image: jpeg });
    expect(new Set(keys).size).toBe(2);
  });

  test("sends the caller's idempotency key", async () => {
    const keys = createAfter(() => HttpResponse.error());
    await client().jobs.create({ image: jpeg, idempotencyKey: 'order-1' });
    expect(keys).toEqual(['order-1', 'order-1']);
  });

  test('can be aborted while it reads the image', async () => {
    const reason = new Error('the user left');
    const stalled = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => {}) });
    const abort = new AbortController();
    setTimeout(() => abort.abort(reason), 20);
    await expect(client().jobs.create({ image: stalled }, { signal: abort.signal })).rejects.toBe(reason);
    await expect(client().jobs.create({ image: jpeg }, { signal: abort.signal })).rejects.toBe(reason);
  });
});

describe('retrieve', () => {
  test('retries a 429 after the time in Retry-After', async () => {
    const times = serve('get', job, (n) => (n === 1 ? retryAfter(429, '1')() : HttpResponse.json(task())));
    await client().jobs.retrieve(jobId);
    expect(times[1]! - times[0]!).toBeGreaterThan(990);
  });

  test.each([500, 501, 520, 599])('retries a %i', async (status) => {
    serve('get', job, (n) => (n === 1 ? retryAfter(status, '0')() : HttpResponse.json(task())));
    expect(await client().jobs.retrieve(jobId)).toEqual(task());
  });

  test.each([400, 404, 409, 418])('does not retry a %i', async (status) => {
    const requests = serve('get', job, retryAfter(status, '0'));
    await expect(client().jobs.retrieve(jobId)).rejects.toMatchObject({ status });
    expect(requests).toHaveLength(1);
  });

  test('does not wait for a Retry-After of more than a minute', async () => {
    const requests = serve('get', job, retryAfter(503, '3600'));
    await expect(client().jobs.retrieve(jobId)).rejects.toMatchObject({
      name: 'ServerError',
      status: 503,
      retryAfterMs: 3_600_000,
    });
    expect(requests).toHaveLength(1);
  });

  test('names the pause of a 429 that is not retried', async () => {
    serve('get', job, retryAfter(429, '3600'));
    await expect(client().jobs.retrieve(jobId)).rejects.toThrow(/unfinished jobs\. Try again in 3600 s$/);
  });

  test('rejects with the message of a quota, without waiting for hours', async () => {
    const error = { code: 'quota_exceeded', message: 'This account has created 100,000 jobs today' };
    const quota = () => HttpResponse.json({ error }, { status: 429, headers: { 'retry-after': '3600' } });
    const requests = serve('get', job, quota);
    expect(await errorOf(client().jobs.retrieve(jobId))).toMatchObject({ name: 'RateLimitError', ...error });
    expect(requests).toHaveLength(1);
  });

  test('rejects with a RateLimitError after repeated 429s', async () => {
    serve('get', job, retryAfter(429, '0'));
    const error = await errorOf(client().jobs.retrieve(jobId));
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ status: 429, code: 'rate_limited' });
  });

  test('retries a response that breaks off in its body', async () => {
    const requests = serve('get', job, (n) =>
      n === 1 ? new HttpResponse(brokenStream('{"task_id":')) : HttpResponse.json(task()),
    );
    expect(await client().jobs.retrieve(jobId)).toEqual(task());
    expect(requests).toHaveLength(2);
  });

  test('a connection that breaks during a response is not reported as an unreachable server', async () => {
    const file = succeeded.model_urls?.glb ?? '';
    serve('get', file, () => new HttpResponse(brokenStream('glTF')));
    const error = await errorOf(client({ maxRetries: 0 }).download(succeeded));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({
      code: 'connection_failed',
      message: expect.stringMatching(`^The connection to ${origin} broke during its response: .*Try again$`),
    });
    serve('get', file, () => HttpResponse.error());
    const unreachable = await errorOf(client({ maxRetries: 0 }).download(succeeded));
    expect(unreachable).toMatchObject({ message: expect.stringContaining(`Cannot reach ${origin}`) });
  });

  test('rejects invalid JSON with a ServerError, without a retry', async () => {
    const requests = serve(
      'get',
      job,
      () => new HttpResponse('{"task_id": "01J', { headers: { 'x-request-id': 'req-7' } }),
    );
    const error = await errorOf(client().jobs.retrieve(jobId));
    expect(error).toBeInstanceOf(ServerError);
    expect(error).toMatchObject({ code: 'invalid_response', requestId: 'req-7' });
    expect(requests).toHaveLength(1);
  });

  test("rejects with the signal's reason when aborted between two attempts", async () => {
    serve('get', job, retryAfter(503, '30'));
    const abort = new AbortController();
    const reason = new Error('the user left');
    setTimeout(() => abort.abort(reason), 50);
    await expect(client().jobs.retrieve(jobId, { signal: abort.signal })).rejects.toBe(reason);
  });
});

describe('rotate, which is not idempotent,', () => {
  test('is not retried after a lost response', async () => {
    const requests = serve('post', rotate, () => HttpResponse.error());
    await expect(client().webhookEndpoint.rotate()).rejects.toBeInstanceOf(ConnectionError);
    expect(requests).toHaveLength(1);
  });

  test('is retried after a 429', async () => {
    const requests = serve('post', rotate, (n) =>
      n === 1 ? retryAfter(429, '0')() : HttpResponse.json({ secret: 'whsec_new' }),
    );
    expect(await client().webhookEndpoint.rotate()).toEqual({ secret: 'whsec_new' });
    expect(requests).toHaveLength(2);
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

test('one signal for 40 parallel calls does not make Node warn of a leak', async () => {
  serve('get', job, () => HttpResponse.json(task()));
  const warnings: Error[] = [];
  const warn = (warning: Error) => warnings.push(warning);
  process.on('warning', warn);
  onTestFinished(() => void process.off('warning', warn));
  const { signal } = new AbortController();
  const gen3d = client();
  await Promise.all(Array.from({ length: 40 }, () => gen3d.jobs.retrieve(jobId, { signal })));
  expect(warnings).toEqual([]);
});
