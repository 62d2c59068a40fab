import { mkdir, readFile, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { modelDirs, pulledModelsDir } from '@gen3d/engine/bundles';
import { BundleOverview } from '@gen3d/schema/dashboard';
import * as offers from '@gen3d/weights/offers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { writeBallBundle } from '../../engine/src/bundle/bundle.fixture.js';
import { openAdmin } from '../src/index.js';
import { BackgroundPull } from '../src/work/bundles/background-pull.js';
import { type Browser, browsersOn } from './dashboard-kit.js';
import { silent, site, startServer, type TestServer, temporaryFolder, until } from './kit.js';

let server: TestServer;
let operator: Browser;
let published: string;

/** A server whose catalog offers the bundle `ball`, with files from a host that `respond` controls. */
async function startWithCatalog(respond: RequestListener): Promise<void> {
  published = temporaryFolder();
  const directory = await writeBallBundle(published, 'ball', { kind: 'planes' });
  const manifest = JSON.parse(await readFile(join(directory, 'manifest.json'), 'utf8'));
  const host = await site(respond);
  const urls = Object.fromEntries(manifest.files.map(({ name }: { name: string }) => [name, `${host}/ball/${name}`]));
  server = await startServer({ bundle: undefined });
  const modelsDir = join(server.config.dataDir, 'models');
  await mkdir(modelsDir, { recursive: true });
  const catalog = { formatVersion: 1, bundles: [{ manifest, urls }] };
  await writeFile(join(modelsDir, 'catalog.json'), JSON.stringify(catalog));
  const admin = await openAdmin(server.config);
  onTestFinished(() => admin.close());
  operator = await browsersOn(
    () => server,
    () => admin,
  ).newOperator();
}

const serveFiles: RequestListener = async (request, response) => {
  response.end(await readFile(join(published, request.url!)));
};

const overview = async () => BundleOverview.parse((await operator.call('GET', '/operator/bundles')).body);

const offeredBall = async () => (await overview()).offered.find(({ name }) => name === 'ball');

const pullsEnd = () =>
  until(async () => {
    const { pull } = await overview();
    return pull && pull.status !== 'running' && pull;
  });

describe("the operator's bundles", { tags: 'slow' }, () => {
  test('are pulled from the catalog in the background, and chosen for the next job', async () => {
    await startWithCatalog(serveFiles);
    expect(await offeredBall()).toMatchObject({ title: 'A ball', license: 'MIT', memory_bytes: null });

    const started = await operator.call('POST', '/operator/bundles/pull', { name: 'ball' });
    expect(started.status).toBe(202);
    expect(await pullsEnd()).toMatchObject({ name: 'ball', status: 'done', problem: null });
    const pulled = await overview();
    expect(await offeredBall()).toBeUndefined();
    // The best of the catalog that needs no GPU.
    expect(pulled.recommended).toBe('triposr');
    expect(pulled.offered.find(({ name }) => name === 'triposr')!.cpu_seconds).toBeGreaterThan(0);
    expect(pulled.installed.find(({ name }) => name === 'ball')).toMatchObject({ in_use: false });

    const chosen = await operator.call('POST', '/operator/bundles/use', { name: 'ball' });
    expect(chosen.status).toBe(200);
    await until(async () => (await overview()).installed.find(({ name }) => name === 'ball')?.in_use);
    expect((await overview()).installed.filter(({ in_use }) => in_use)).toHaveLength(2); // and the matte
  });

  test('are not installed when the files are not the published ones', async () => {
    await startWithCatalog((_request, response) => response.end('not the file'));
    await operator.call('POST', '/operator/bundles/pull', { name: 'ball' });
    expect(await pullsEnd()).toMatchObject({ status: 'failed', problem: expect.stringContaining('.onnx') });
    expect(await offeredBall()).toBeDefined();
  });

  test('are pulled one at a time, and a pull can be canceled', async () => {
    await startWithCatalog(() => {}); // never responds
    await operator.call('POST', '/operator/bundles/pull', { name: 'ball' });
    const second = await operator.call('POST', '/operator/bundles/pull', { name: 'ball' });
    expect(second).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('being pulled') } },
    });
    await operator.call('DELETE', '/operator/bundles/pull');
    expect(await pullsEnd()).toMatchObject({ status: 'canceled' });
  });

  test('are pulled again immediately after a cancellation, regardless of what the canceled process reports', async () => {
    let requests = 0;
    // Never responds.
    await startWithCatalog(() => {
      requests++;
    });
    const { config } = server;
    const request = { name: 'ball', directory: pulledModelsDir(config), modelDirs: modelDirs(config) };
    const pull = new BackgroundPull(silent);
    onTestFinished(() => pull.cancel());
    pull.start(request, offers);
    await until(async () => requests === 1);
    pull.cancel();
    expect(pull.start(request, offers)).toBe(true);
    // The first process ends long before the second one has loaded its modules.
    await until(async () => requests === 2);
    expect(pull.status).toMatchObject({ status: 'running', problem: null });
  });

  test('are refused by name when neither the catalog nor a folder has them', async () => {
    await startWithCatalog(serveFiles);
    for (const action of ['pull', 'use']) {
      const refused = await operator.call('POST', `/operator/bundles/${action}`, { name: 'http://127.0.0.1/ball' });
      expect(refused).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } });
    }
  });

  test('are out of reach of a member', async () => {
    await startWithCatalog(serveFiles);
    const { signIn } = browsersOn(
      () => server,
      () => {
        throw new Error('not needed');
      },
    );
    const member = await signIn({ api_key: server.apiKey });
    expect((await member.call('GET', '/operator/bundles')).status).toBe(403);
  });
});
