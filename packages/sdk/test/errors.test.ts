import { HttpResponse, http } from 'msw';
import { describe, expect, test } from 'vitest';
import {
  AuthenticationError,
  Gen3d,
  Gen3dError,
  InsufficientBalanceError,
  InvalidRequestError,
  NotConfiguredError,
  NotFoundError,
  ServerError,
} from '../src/index.js';
import { client, jobId, misbehavingServer, origin, task } from './server.js';

const server = misbehavingServer();
const job = `${origin}/v1/jobs/${jobId}`;
const gen3d = client({ maxRetries: 0 });

async function errorOf(status: number, body: object): Promise<unknown> {
  server.use(http.get(job, () => HttpResponse.json(body, { status, headers: { 'x-request-id': 'req-1' } })));
  return gen3d.jobs.retrieve(jobId).catch((thrown: unknown) => thrown);
}

const standard = (code: string) => ({ error: { code, message: `about ${code}` } });

describe('a refusal becomes the class of its code', () => {
  test.each([
    [400, 'invalid_request', InvalidRequestError],
    [400, 'invalid_cursor', InvalidRequestError],
    [404, 'not_found', NotFoundError],
    [404, 'not_configured', NotConfiguredError],
    [409, 'not_configured', NotConfiguredError],
    [500, 'internal_error', ServerError],
    [418, 'a_code_of_next_year', InvalidRequestError],
  ])('%i %s', async (status, code, type) => {
    const error = await errorOf(status, standard(code));
    expect(error).toBeInstanceOf(type);
    expect(error).toBeInstanceOf(Gen3dError);
    expect(error).toMatchObject({ status, code, message: `about ${code}`, requestId: 'req-1' });
  });

  test('402 carries both figures', async () => {
    const error = await errorOf(402, { ...standard('insufficient_balance'), balance_usd: 0.25, min_balance_usd: 1 });
    expect(error).toBeInstanceOf(InsufficientBalanceError);
    expect(error).toMatchObject({ balanceUsd: 0.25, minBalanceUsd: 1 });
  });

  test("the gateway's 403 is an AuthenticationError though it has another shape", async () => {
    const error = await errorOf(403, { message: 'Forbidden' });
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ status: 403, code: 'forbidden' });
  });

  test("a proxy's 502 page is a ServerError", async () => {
    server.use(http.get(job, () => new HttpResponse('<html>Bad Gateway</html>', { status: 502 })));
    const error = await gen3d.jobs.retrieve(jobId).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ServerError);
    expect(error).toMatchObject({ status: 502 });
  });

  test('a 404 that no gen3d server wrote asks whether the base URL is right', async () => {
    expect(await errorOf(404, { detail: 'no such page' })).toMatchObject({
      name: 'NotFoundError',
      message: expect.stringContaining('is the base URL right?'),
    });
  });
});

describe('answers', () => {
  test('fields that this version does not know are kept', async () => {
    server.use(http.get(job, () => HttpResponse.json({ ...task(), polygons: 12_000 })));
    expect(await gen3d.jobs.retrieve(jobId)).toEqual({ ...task(), polygons: 12_000 });
  });

  test('a 200 that is no task is a ServerError', async () => {
    expect(await errorOf(200, { hello: 'world' })).toMatchObject({ name: 'ServerError', code: 'invalid_response' });
  });
});

describe('a client that cannot work says so when it is made', () => {
  test('without a key', () => {
    expect(() => new Gen3d({ apiKey: '', baseUrl: origin })).toThrow(AuthenticationError);
  });

  test('with a key that no header can carry, and without repeating it', () => {
    expect(() => new Gen3d({ apiKey: 'gen3d_se\ncret' })).toThrow(/copied whole/);
    expect(() => new Gen3d({ apiKey: 'gen3d_se\ncret' })).not.toThrow(/cret/);
  });

  test.each(['gpu-box:8787', 'ftp://gpu-box', ''])('with the base URL "%s"', (baseUrl) => {
    expect(() => new Gen3d({ apiKey: 'gen3d_key', baseUrl })).toThrow(InvalidRequestError);
  });

  test.each(['https://host/', 'https://host/v1', 'https://host/v1/'])('but %s is taken as https://host', (baseUrl) => {
    expect(new Gen3d({ apiKey: 'gen3d_key', baseUrl }).baseUrl).toBe('https://host');
  });
});
