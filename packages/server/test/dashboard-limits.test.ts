import { expect, onTestFinished, test } from 'vitest';
import { openAdmin } from '../src/admin.js';
import { browsersOn } from './dashboard-kit.js';
import { startServer } from './kit.js';

async function setUp(settings: Record<string, unknown>) {
  const server = await startServer(settings);
  const admin = await openAdmin(server.config);
  onTestFinished(() => admin.close());
  const browsers = browsersOn(
    () => server,
    () => admin,
  );
  return { server, ...browsers };
}

const countOf = (statuses: number[], wanted: number) => statuses.filter((status) => status === wanted).length;

test('the routes of a session have a rate limit, in a bucket that takes nothing from the API', async () => {
  const { server, signIn } = await setUp({ rateLimit: '1:10' });
  const { call } = await signIn({ api_key: server.apiKey });
  const statuses = (await Promise.all(Array.from({ length: 40 }, () => call('GET', '/balance')))).map(
    (one) => one.status,
  );
  expect(countOf(statuses, 200)).toBeGreaterThan(5);
  expect(countOf(statuses, 429)).toBeGreaterThan(5);
  expect((await call('GET', '/session')).status).toBe(200);
  expect((await server.call('GET', '/v1/balance')).status).toBe(200);
});

test('signing in with a key again and again makes no more sessions than the limit allows', async () => {
  const { server, signIn } = await setUp({ rateLimit: '1:5' });
  const attempts = Array.from({ length: 40 }, () => signIn({ api_key: server.apiKey }));
  const statuses = (await Promise.all(attempts)).map(({ signedIn }) => signedIn.status);
  expect(countOf(statuses, 429)).toBeGreaterThan(5);
});
