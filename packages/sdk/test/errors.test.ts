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
import { client, jobId, misbehavingServer, origin, succeeded, task } from './server.js';

const server = misbehavingServer();
const job = `${origin}/v1/jobs/${jobId}`;
const gen3d = client({ maxRetries: 0 });

async function errorOf(status: number, body: object): Promise<unknown> {
  server.use(http.get(job, () => HttpResponse.json(body, { status, headers: { 'x-request-id': 'req-1' } })));
  return gen3d.jobs.retrieve(jobId).catch((thrown: unknown) => thrown);
}

const standard = (code: string) => ({ error: { code, message: `about ${code}` } });

describe('an error response', () => {
  test.each([
    [400, 'invalid_request', InvalidRequestError],
    [400, 'invalid_cursor', InvalidRequestError],
    [404, 'not_found', NotFoundError],
    [404, 'not_configured', NotConfiguredError],
    [409, 'not_configured', NotConfiguredError],
    [500, 'internal_error', ServerError],
    [418, 'a_future_code', InvalidRequestError],
  ])('%i with code %s has its own error class', async (status, code, type) => {
    const error = await errorOf(status, standard(code));
    expect(error).toBeInstanceOf(type);
    expect(error).toBeInstanceOf(Gen3dError);
    expect(error).toMatchObject({ status, code, message: `about ${code}`, requestId: 'req-1' });
  });

  test('402 has both amounts', async () => {
    const error = await errorOf(402, { ...standard('insufficient_balance'), balance_usd: 0.25, min_balance_usd: 1 });
    expect(error).toBeInstanceOf(InsufficientBalanceError);
    expect(error).toMatchObject({ balanceUsd: 0.25, minBalanceUsd: 1 });
  });

  test("403 is an AuthenticationError, although the gateway's body has another shape", async () => {
    const error = await errorOf(403, { message: 'Forbidden' });
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ status: 403, code: 'forbidden' });
  });

  test('a 404 from another kind of server suggests checking the base URL', async () => {
    expect(await errorOf(404, { detail: 'no such page' })).toMatchObject({
      name: 'NotFoundError',
      message: expect.stringContaining('Check the base URL'),
    });
  });
});

describe('a download', () => {
  test.each([
    [404, 'NotFoundError'],
    [403, 'Gen3dError'],
  ])(
    'that responds with %i names the file, and suggests checking neither the base URL nor the API key',
    async (status, name) => {
      const file = succeeded.model_urls?.glb ?? '';
      server.use(http.get(file, () => new HttpResponse('<Error/>', { status })));
      const error = await gen3d.download(succeeded).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ name, status, message: expect.stringContaining(`${file} responded with status`) });
      expect((error as Error).message).not.toMatch(/base URL|API key/);
    },
  );
});

describe('a response', () => {
  test('keeps unknown fields', async () => {
    server.use(http.get(job, () => HttpResponse.json({ ...task(), polygons: 12_000 })));
    expect(await gen3d.jobs.retrieve(jobId)).toEqual({ ...task(), polygons: 12_000 });
  });

  test('that is not a task is a ServerError', async () => {
    expect(await errorOf(200, { hello: 'world' })).toMatchObject({ name: 'ServerError', code: 'invalid_response' });
  });
});

describe('the constructor', () => {
  test('requires a key', () => {
    expect(() => new Gen3d({ apiKey: '', baseUrl: origin })).toThrow(AuthenticationError);
  });

  test('rejects a key with characters that are invalid in a header, without quoting it', () => {
    expect(() => new Gen3d({ apiKey: 'gen3d_se\ncret' })).toThrow(/copied the whole key/);
    expect(() => new Gen3d({ apiKey: 'gen3d_se\ncret' })).not.toThrow(/cret/);
  });

  test.each(['"gen3d_key"', " 'gen3d_key'\n"])(
    'removes the quotes and spaces that readers of .env files keep: %j',
    async (apiKey) => {
      let sent: unknown;
      const fetch = (_: unknown, init?: RequestInit) => {
        sent = new Headers(init?.headers).get('authorization');
        return Promise.resolve(new Response(null, { status: 204 }));
      };
      await new Gen3d({ apiKey, fetch }).request('get', '/healthz');
      expect(sent).toBe('Bearer gen3d_key');
      expect(() => new Gen3d({ apiKey: '""' })).toThrow(/API key is missing/);
    },
  );

  test.each(['gpu-box:8787', 'ftp://gpu-box', ''])('rejects the base URL "%s"', (baseUrl) => {
    expect(() => new Gen3d({ apiKey: 'gen3d_key', baseUrl })).toThrow(InvalidRequestError);
  });

  test.each(['https://ann:hunter2@host/', 'https://ann:hun/ter2@host/'])(
    'rejects the base URL %s without repeating its credentials',
    (baseUrl) => {
      const create = () => new Gen3d({ apiKey: 'gen3d_key', baseUrl });
      expect(create).toThrow(InvalidRequestError);
      expect(create).toThrow(/^The base URL "https:\/\/host\/" is invalid\. .* without a user name, password/);
    },
  );

  test.each(['https://host/gen3d/?x=1', 'https://host/gen3d#x'])('rejects %s, and says what to omit', (baseUrl) => {
    const message = `The base URL "${baseUrl}" is invalid. Use an http(s) URL such as http://127.0.0.1:8787, without a`;
    expect(() => new Gen3d({ apiKey: 'gen3d_key', baseUrl })).toThrow(message);
  });

  test.each(['https://host/', 'https://host/v1', 'https://host/v1/'])('reads %s as https://host', (baseUrl) => {
    expect(new Gen3d({ apiKey: 'gen3d_key', baseUrl }).baseUrl).toBe('https://host');
  });
});
