import { WebhookEndpoint } from '@gen3d/schema';
import { describe, expect, test } from 'vitest';
import { startServer } from './kit.js';

const path = '/v1/webhook-endpoint';
const url = 'https://example.com/hook';

describe('PUT', () => {
  test('shows the secret the first time and not when the URL changes or stays', async () => {
    const server = await startServer();
    const first = await server.call('PUT', path, { url });
    expect(first.status).toBe(200);
    expect(first.body).toEqual({ url, secret: expect.stringMatching(/^whsec_[\w-]{32,}$/) });
    expect((await server.call('PUT', path, { url })).body).toEqual({ url });
    const other = 'https://example.org/hook';
    expect((await server.call('PUT', path, { url: other })).body).toEqual({ url: other });
    expect((await server.call('GET', path)).body).toEqual({ ...(first.body as object), url: other });
  });

  test('after a DELETE is a first time again, with a new secret', async () => {
    const server = await startServer();
    const first = WebhookEndpoint.parse((await server.call('PUT', path, { url })).body);
    await server.call('DELETE', path);
    const second = WebhookEndpoint.parse((await server.call('PUT', path, { url })).body);
    expect(second.secret).not.toBe(first.secret);
  });

  test.each([[{}], [{ url: 7 }], [{ url: 'http://example.com' }], [{ url: 'example.com' }], [{ url: '' }], ['{"url"']])(
    'refuses %j with 400 invalid_request',
    async (body) => {
      const { status, body: answer } = await (await startServer()).call('PUT', path, body);
      expect(status).toBe(400);
      expect(answer).toMatchObject({ error: { code: 'invalid_request' } });
    },
  );

  test('refuses a private address, unless the server allows it', async () => {
    const body = { url: 'https://169.254.169.254/hook' };
    const refused = await (await startServer()).call('PUT', path, body);
    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject({ error: { message: expect.stringContaining('url') } });
    expect((await (await startServer({ allowPrivateNetwork: true })).call('PUT', path, body)).status).toBe(200);
  });
});

test('without an endpoint GET and rotate are 404, test is 409, all not_configured, and DELETE is 204', async () => {
  const server = await startServer();
  const answers = [
    await server.call('GET', path),
    await server.call('POST', `${path}/rotate`),
    await server.call('POST', `${path}/test`),
  ];
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 409]);
  for (const { body } of answers) expect(body).toMatchObject({ error: { code: 'not_configured' } });
  const removed = await server.call('DELETE', path);
  expect(removed.status).toBe(204);
  expect(removed.body).toBe('');
});

test('rotate shows a new secret, which GET shows from then on', async () => {
  const server = await startServer();
  const { secret } = WebhookEndpoint.parse((await server.call('PUT', path, { url })).body);
  const rotated = await server.call('POST', `${path}/rotate`);
  expect(rotated.status).toBe(200);
  expect(rotated.body).toEqual({ secret: expect.stringMatching(/^whsec_/) });
  expect(rotated.body).not.toEqual({ secret });
  expect((await server.call('GET', path)).body).toEqual({ url, ...(rotated.body as object) });
});

test('test answers 202 and queues a ping', async () => {
  const server = await startServer();
  await server.call('PUT', path, { url });
  const { status, body } = await server.call('POST', `${path}/test`);
  expect(status).toBe(202);
  expect(body).toEqual({ queued: true });
});
