import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CreateJobResponse, Task } from '@gen3d/schema';
import pino from 'pino';
import { expect, test } from 'vitest';
import { writeBallBundle } from '../../engine/src/bundle/bundle.fixture.js';
import { chooseBundles } from '../src/chosen-bundles.js';
import { dataDirOf } from '../src/data/installation/data-dir.js';
import { asDataUri, ballPhoto } from './ball-photo.js';
import { newInstallation, startServer, type TestServer, until } from './kit.js';
import { openDatabase } from './open-database.js';

// Without the default of `startServer` for the bundle, which would override the choice.
const coarse = { workers: 1, bundle: undefined, resolution: 96 };

/** Runs a job and returns the bundle that its GLB and its record name. */
async function bundleOfNextJob({ call, config }: TestServer): Promise<string> {
  const input = { image_urls: [asDataUri(ballPhoto())] };
  const created = await call('POST', '/v1/jobs', { type: 'image-to-3d', input });
  const { job_id } = CreateJobResponse.parse(created.body);
  const task = await until(async () => {
    const read = Task.parse((await call('GET', `/v1/jobs/${job_id}`)).body);
    return read.status === 'SUCCEEDED' && read;
  }, 120_000);
  const glb = Buffer.from(await (await fetch(task.model_urls!.glb)).arrayBuffer());
  const { asset } = JSON.parse(glb.toString('utf8', 20, 20 + glb.readUInt32LE(12)));
  const db = openDatabase(dataDirOf(config).database);
  const { bundle } = await db.selectFrom('jobs').select('bundle').where('id', '=', job_id).executeTakeFirstOrThrow();
  await db.destroy();
  expect(asset.extras.bundles).toEqual([{ name: bundle, license: 'MIT' }]);
  return bundle!;
}

/** A server whose bundle was chosen, and the messages in its log. */
async function serverThatUses(bundle: string, settings = {}) {
  const messages: string[] = [];
  const log = pino({}, { write: (line: string) => messages.push(JSON.parse(line).msg) });
  const installation = await newInstallation();
  await chooseBundles(installation.dataDir, { bundle });
  const server = await startServer({ ...coarse, ...installation, ...settings }, { log });
  return { server, messages, modelsDir: join(installation.dataDir, 'models') };
}

test('a bundle that is chosen while the server runs makes the next job', async () => {
  const { server, messages, modelsDir } = await serverThatUses('inflate');
  await writeBallBundle(modelsDir, 'ball', { kind: 'planes' });
  expect(await bundleOfNextJob(server)).toBe('inflate');

  await chooseBundles(server.config.dataDir, { bundle: 'ball' });
  await until(async () => messages.filter((message) => message === 'runner is ready').length === 2);
  expect(await bundleOfNextJob(server)).toBe('ball');
});

test('a chosen bundle that cannot be opened leaves the previous one in use', async () => {
  const { server, messages, modelsDir } = await serverThatUses('inflate');
  const graph = join(await writeBallBundle(modelsDir, 'broken', { kind: 'planes' }), 'encoder.onnx');
  await writeFile(graph, Buffer.alloc((await readFile(graph)).length, 0xff));

  await chooseBundles(server.config.dataDir, { bundle: 'broken' });
  await until(async () => messages.includes('a runner cannot open the new bundles; the previous ones stay in use'));
  expect(await bundleOfNextJob(server)).toBe('inflate');
});

test('a setting for the bundle beats the choice', async () => {
  const { server, modelsDir } = await serverThatUses('ball', { bundle: 'inflate' });
  await writeBallBundle(modelsDir, 'ball', { kind: 'planes' });
  await chooseBundles(server.config.dataDir, { bundle: 'ball' });
  expect(await bundleOfNextJob(server)).toBe('inflate');
});
