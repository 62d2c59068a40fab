import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ConfigError, loadConfig, openAdmin, serve } from '../src/index.js';
import { imageJob, silent, startServer, temporaryFolder } from './kit.js';

const request = imageJob('https://example.com/a.jpg');

test('the first start creates an account with a key, and every start has a sign-in link and prints its URL', async () => {
  const config = loadConfig({ port: 0, workers: 0, dataDir: temporaryFolder() }, {});
  let stdout = '';
  const options = { log: silent, stdout: { write: (text: string) => (stdout += text) } };
  const first = await serve(config, options);
  expect(stdout).toBe(`gen3d is listening on http://127.0.0.1:${first.port}\n`);
  expect(await first.signInLink()).toContain(`${first.url}/dashboard/sign-in#`);
  await first.close();

  const second = await serve(config, options);
  expect(second.bootstrap).toBeUndefined();
  const response = await fetch(`${second.url}/v1/jobs`, {
    method: 'POST',
    headers: { 'x-api-key': first.bootstrap!.apiKey },
    body: JSON.stringify(request),
  });
  expect(response.status).toBe(202);
  await second.close();
});

test('a second server for a data directory does not start until the first has stopped', async () => {
  const dataDir = temporaryFolder();
  const first = await startServer({ dataDir });
  const starting = startServer({ dataDir });
  await expect(starting).rejects.toThrow(ConfigError);
  await expect(starting).rejects.toThrow(`Another server uses the data directory ${dataDir}. Stop that server`);
  expect((await first.call('GET', '/v1/balance')).status).toBe(200);
  await first.close();
  const second = await startServer({ dataDir });
  expect((await second.call('GET', '/v1/balance', undefined, first.apiKey)).status).toBe(200);
});

test('the first key and balance can be configured', async () => {
  const bootstrapApiKey = 'gen3d_0123456789012345678901234567890123456789';
  const server = await startServer({ bootstrapApiKey, bootstrapBalanceUsd: 3.5 });
  expect((await server.call('GET', '/v1/balance', undefined, bootstrapApiKey)).body).toMatchObject({
    balance_usd: 3.5,
  });
});

test('only its owner can read the server key, and the database contains no secret in plain text', async () => {
  const server = await startServer();
  const { dataDir } = server.config;
  expect(statSync(join(dataDir, 'server.key')).mode & 0o777).toBe(0o600);
  const { body } = await server.call('PUT', '/v1/webhook-endpoint', { url: 'https://example.com/hook' });
  await server.close();
  const database = readFileSync(join(dataDir, 'gen3d.sqlite'), 'latin1');
  expect(database).toContain('https://example.com/hook');
  expect(database).not.toContain((body as { secret: string }).secret);
  expect(database).not.toContain(server.apiKey.slice('gen3d_'.length));
});

test('a port in use stops the start before the first key is created', async () => {
  const { port } = await startServer();
  const dataDir = temporaryFolder();
  await expect(startServer({ port, dataDir })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  expect((await startServer({ dataDir })).apiKey).not.toBe('');
});

test('several processes can open a new data directory concurrently', { tags: 'slow' }, async () => {
  const dataDir = temporaryFolder();
  const script = (name: string) => `
    import { loadConfig, openAdmin } from '@gen3d/server';
    const admin = await openAdmin(loadConfig({ dataDir: ${JSON.stringify(dataDir)} }));
    await admin.createAccount('${name}');
    await admin.close();`;
  const here = fileURLToPath(new URL('..', import.meta.url));
  const open = (name: string) =>
    promisify(execFile)(process.execPath, ['--input-type=module', '-e', script(name)], { cwd: here });
  const [admin] = await Promise.all([openAdmin(loadConfig({ dataDir }, {})), ...['one', 'two'].map(open)]);
  expect(await admin.listAccounts()).toHaveLength(2);
  await admin.close();
});

test('only their owner can read inputs, even in a data directory that everyone can read', async () => {
  const dataDir = temporaryFolder();
  chmodSync(dataDir, 0o755);
  await startServer({ dataDir });
  expect(statSync(join(dataDir, 'inputs')).mode & 0o777).toBe(0o700);
});

test('only its owner can read the database', async () => {
  const { dataDir } = (await startServer()).config;
  for (const name of ['gen3d.sqlite', 'gen3d.sqlite-wal', 'gen3d.sqlite-shm']) {
    expect(statSync(join(dataDir, name)).mode & 0o777, name).toBe(0o600);
  }
});

test.each<[string, string, Uint8Array | string]>([
  ['an invalid database', 'gen3d.sqlite', randomBytes(8192)],
  ['an empty key', 'server.key', ''],
  ['a file instead of a folder', 'inputs', ''],
])('%s stops the start with an error that names the path and --data-dir', async (_, name, content) => {
  const dataDir = temporaryFolder();
  const path = join(dataDir, name);
  writeFileSync(path, content);
  const refusal = expect(openAdmin(loadConfig({ dataDir }, {}))).rejects;
  await refusal.toThrow(ConfigError);
  await refusal.toThrow(path);
  await refusal.toThrow('--data-dir');
  // Unchanged, so that it can be rescued.
  expect(readFileSync(path)).toEqual(Buffer.from(content));
});

test('a file as the data directory stops the start with an error', async () => {
  const dataDir = join(temporaryFolder(), 'file');
  writeFileSync(dataDir, '');
  await expect(openAdmin(loadConfig({ dataDir }, {}))).rejects.toThrow(/file cannot be a folder.*--data-dir/);
  await expect(openAdmin(loadConfig({ dataDir: join(dataDir, 'in') }, {}))).rejects.toThrow(ConfigError);
});
