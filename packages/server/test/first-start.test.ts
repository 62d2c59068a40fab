import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CreateJobResponse } from '@gen3d/schema';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { migrate, openDatabase } from '../src/data/db/open.js';
import { ConfigError, loadConfig, openAdmin, serve } from '../src/index.js';
import { silent, startServer, temporaryFolder } from './kit.js';

const request = { type: 'image-to-3d', input: { image_urls: ['https://example.com/a.jpg'] } };

test('the first start makes an account that can create jobs, shows its key and a link to the dashboard once, and says where it listens', async () => {
  const config = loadConfig({ port: 0, workers: 0, dataDir: temporaryFolder() }, {});
  const said = { stdout: '', stderr: '' };
  const options = {
    log: silent,
    stdout: { write: (text: string) => (said.stdout += text) },
    stderr: { isTTY: true, write: (text: string) => (said.stderr += text) },
  };
  const first = await serve(config, options);
  expect(said.stdout).toBe(`gen3d is listening on http://127.0.0.1:${first.port}\n`);
  expect(said.stderr).toContain(first.bootstrap?.apiKey);
  const [link, token] = /http:\S+\/dashboard\/sign-in#(\S+)/.exec(said.stderr) ?? [];
  expect(link?.startsWith(`${first.url}/`)).toBe(true);
  const signedIn = await fetch(`${first.url}/dashboard/api/session`, {
    method: 'POST',
    headers: { origin: first.url },
    body: JSON.stringify({ link: token }),
  });
  expect(await signedIn.json()).toMatchObject({ role: 'operator' });
  await first.close();

  said.stderr = '';
  const second = await serve(config, options);
  expect(second.bootstrap).toBeUndefined();
  expect(said.stderr).toBe('');
  const response = await fetch(`${second.url}/v1/jobs`, {
    method: 'POST',
    headers: { 'x-api-key': first.bootstrap!.apiKey },
    body: JSON.stringify(request),
  });
  expect(response.status).toBe(202);
  await second.close();
});

test('where stderr is not a terminal, the first start puts no link into what may be a log', async () => {
  const config = loadConfig({ port: 0, workers: 0, dataDir: temporaryFolder() }, {});
  let stderr = '';
  const output = { write: (text: string) => (stderr += text) };
  const server = await serve(config, { log: silent, stdout: { write: () => {} }, stderr: output });
  await server.close();
  expect(stderr).toContain(server.bootstrap?.apiKey);
  expect(stderr).not.toContain('/dashboard/sign-in');
  expect(stderr).toContain('`gen3d admin sign-in-link` prints a link');
});

test('the first key and balance can be given', async () => {
  const bootstrapApiKey = 'gen3d_0123456789012345678901234567890123456789';
  const server = await startServer({ bootstrapApiKey, bootstrapBalanceUsd: 3.5 });
  expect((await server.call('GET', '/v1/balance', undefined, bootstrapApiKey)).body).toMatchObject({
    balance_usd: 3.5,
  });
});

test('jobs, keys and webhook secrets are still there after a restart', async () => {
  const dataDir = temporaryFolder();
  const first = await startServer({ dataDir });
  const { job_id } = CreateJobResponse.parse((await first.call('POST', '/v1/jobs', request)).body);
  const endpoint = await first.call('PUT', '/v1/webhook-endpoint', { url: 'https://example.com/hook' });
  await first.close();
  const second = await startServer({ dataDir });
  const call = (path: string) => second.call('GET', path, undefined, first.apiKey);
  expect((await call(`/v1/jobs/${job_id}`)).body).toMatchObject({ task_id: job_id, status: 'PENDING' });
  expect((await call('/v1/webhook-endpoint')).body).toEqual(endpoint.body);
});

test('the server key is readable by its owner only, and no secret lies in the database in clear', async () => {
  const server = await startServer();
  const { dataDir } = server.config;
  expect(statSync(join(dataDir, 'server.key')).mode & 0o777).toBe(0o600);
  const { body } = await server.call('PUT', '/v1/webhook-endpoint', { url: 'https://example.com/hook' });
  await server.close();
  const database = readFileSync(join(dataDir, 'gen3d.sqlite'), 'latin1');
  expect(database).toContain('https://example.com/hook');
  expect(database).not.toContain((body as { secret: string }).secret);
});

test('a port that is taken stops the start, and leaves no key that nobody saw', async () => {
  const { port } = await startServer();
  const dataDir = temporaryFolder();
  await expect(startServer({ port, dataDir })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  expect((await startServer({ dataDir })).apiKey).not.toBe('');
});

test('several processes may open a new data directory at once', async () => {
  const dataDir = temporaryFolder();
  const script = `
    import { loadConfig, openAdmin } from '@gen3d/server';
    const admin = await openAdmin(loadConfig({ dataDir: ${JSON.stringify(dataDir)} }));
    await admin.createAccount('one of several');
    await admin.close();`;
  const here = fileURLToPath(new URL('..', import.meta.url));
  const open = () => promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd: here });
  await Promise.all([open(), open(), open()]);
  const admin = await openAdmin(loadConfig({ dataDir }, {}));
  expect(await admin.listAccounts()).toHaveLength(3);
  await admin.close();
});

test('a database that a newer gen3d has changed is left alone, with a sentence', async () => {
  const path = join(temporaryFolder(), 'gen3d.sqlite');
  const db = openDatabase(path);
  await migrate(db);
  await sql`insert into kysely_migration (name, timestamp) values ('9999_later', '2100-01-01')`.execute(db);
  await expect(migrate(db)).rejects.toThrow('newer gen3d');
  await db.destroy();
});

test('photos handed in are their owner\u2019s only, also in a data directory that everybody may look into', async () => {
  const dataDir = temporaryFolder();
  chmodSync(dataDir, 0o755);
  await startServer({ dataDir });
  expect(statSync(join(dataDir, 'inputs')).mode & 0o777).toBe(0o700);
});

test('the database is readable by its owner only', async () => {
  const { dataDir } = (await startServer()).config;
  for (const name of ['gen3d.sqlite', 'gen3d.sqlite-wal', 'gen3d.sqlite-shm']) {
    expect(statSync(join(dataDir, name)).mode & 0o777, name).toBe(0o600);
  }
});

test.each<[string, string, Uint8Array | string]>([
  ['a database that is none', 'gen3d.sqlite', randomBytes(8192)],
  ['an empty key', 'server.key', ''],
  ['a file in place of a folder', 'inputs', ''],
])('%s stops the start with a sentence that names the path and the way out', async (_, name, content) => {
  const dataDir = temporaryFolder();
  const path = join(dataDir, name);
  writeFileSync(path, content);
  const refusal = expect(openAdmin(loadConfig({ dataDir }, {}))).rejects;
  await refusal.toThrow(ConfigError);
  await refusal.toThrow(path);
  await refusal.toThrow('--data-dir');
  // Left as it was, for whoever wants to rescue it.
  expect(readFileSync(path)).toEqual(Buffer.from(content));
});

test('a file as the data directory stops the start with a sentence', async () => {
  const dataDir = join(temporaryFolder(), 'file');
  writeFileSync(dataDir, '');
  await expect(openAdmin(loadConfig({ dataDir }, {}))).rejects.toThrow(/file cannot be a folder.*--data-dir/);
  await expect(openAdmin(loadConfig({ dataDir: join(dataDir, 'in') }, {}))).rejects.toThrow(ConfigError);
});
