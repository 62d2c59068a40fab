import { expect, test } from 'vitest';
import { browsersOn } from './dashboard-kit.js';
import { adminOf, startServer } from './kit.js';

async function setUp(settings: Record<string, unknown>) {
  const server = await startServer(settings);
  const admin = await adminOf(server);
  const browsers = browsersOn(
    () => server,
    () => admin,
  );
  return { server, ...browsers };
}

const countOf = (statuses: number[], wanted: number) => statuses.filter((status) => status === wanted).length;

test('the dashboard’s routes have a rate limit that is separate from the API’s', async () => {
  const { server, signIn } = await setUp({ rateLimit: '1:10' });
  const { call } = await signIn({ api_key: server.apiKey });
  const responses = await Promise.all(Array.from({ length: 40 }, () => call('GET', '/balance')));
  const statuses = responses.map(({ status }) => status);
  expect(countOf(statuses, 200)).toBeGreaterThan(5);
  expect(countOf(statuses, 429)).toBeGreaterThan(5);
  expect((await call('GET', '/session')).status).toBe(200);
  expect((await server.call('GET', '/v1/balance')).status).toBe(200);
});

test('the rate limit applies to signing in with a key', async () => {
  const { server, signIn } = await setUp({ rateLimit: '1:5' });
  const attempts = Array.from({ length: 40 }, () => signIn({ api_key: server.apiKey }));
  const statuses = (await Promise.all(attempts)).map(({ signedIn }) => signedIn.status);
  expect(countOf(statuses, 429)).toBeGreaterThan(5);
});
