import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CreateJobResponse, ErrorBody } from '@gen3d/schema';
import { expect, test } from 'vitest';
import { readGlb } from '../../engine/src/gltf/read-glb.fixture.js';
import { enclosedVolume } from '../../engine/src/surface/topology.fixture.js';
import { createJob, finishedJob, imageJob, startServer, type TestServer } from './kit.js';

const bundle = join(import.meta.dirname, '../../engine/fixtures/sphere-and-chair');

/** The mean of each channel over the pixels, 0..255. */
function meanColor({ data }: { data: Uint8Array }): number[] {
  const sums = [0, 0, 0];
  for (let i = 0; i < data.length; i++) if (i % 4 < 3) sums[i % 4]! += data[i]!;
  return sums.map((sum) => sum / (data.length / 4));
}

test('a flow model samples a shape step by step, and the job ends with a textured GLB of it', async () => {
  const { call } = await startServer({ workers: 1, bundle, device: 'cpu', resolution: 96, textureSize: 512 });
  const model = async (name: string) => {
    const job = imageJob(await readFile(join(bundle, `${name}.png`)));
    const task = await finishedJob(call, await createJob(call, job));
    expect(task).toMatchObject({ status: 'SUCCEEDED', progress: 100 });
    return readGlb(Buffer.from(await (await fetch(task.model_urls!.glb)).arrayBuffer()));
  };

  const [sphere, chair] = [await model('sphere'), await model('chair')];
  // The longest side of a model is 1 m.
  expect(enclosedVolume(sphere.mesh)).toBeCloseTo(Math.PI / 6, 1);
  // The chair of the fixture's train.py has a volume of 0.353 and is 1.9 high.
  const volume = enclosedVolume(chair.mesh) / (0.353 / 1.9 ** 3);
  expect(volume).toBeGreaterThan(0.8);
  expect(volume).toBeLessThan(1.2);
  // The photos show a blue sphere and a brown chair.
  const [blue, brown] = [meanColor(sphere.baseColor), meanColor(chair.baseColor)];
  expect(blue[2]! / blue[0]!).toBeGreaterThan(1.5);
  expect(brown[0]! / brown[2]!).toBeGreaterThan(1.5);
});

/** Creates a job for the sphere with the header of the sampler. */
const send = async ({ call }: TestServer, sampler: string) =>
  call('POST', '/v1/jobs', imageJob(await readFile(join(bundle, 'sphere.png'))), undefined, {
    'x-gen3d-sampler': sampler,
  });

async function finished(server: TestServer, sampler: string) {
  const response = await send(server, sampler);
  expect(response.status).toBe(202);
  return finishedJob(server.call, CreateJobResponse.parse(response.body).job_id);
}

test('a job may set seed and steps, which the GLB contains, and the same ones give the same file', async () => {
  const server = await startServer({ workers: 1, bundle, device: 'cpu', resolution: 48, textureSize: 256 });
  const model = async (sampler: string) => {
    const { model_urls } = await finished(server, sampler);
    return Buffer.from(await (await fetch(model_urls!.glb)).arrayBuffer());
  };
  const [first, again, other] = [await model('seed=5&steps=3'), await model('seed=5&steps=3'), await model('seed=6')];
  expect(first.equals(again)).toBe(true);
  expect(first.equals(other)).toBe(false);
  const json = (glb: Buffer) => JSON.parse(glb.toString('utf8', 20, 20 + glb.readUInt32LE(12)));
  expect(json(first).asset.extras.sampler).toEqual({ seed: 5, steps: 3 });
  // The steps of the bundle.
  expect(json(other).asset.extras.sampler).toEqual({ seed: 6, steps: 10 });
});

test.each([
  ['steps=0', 'x-gen3d-sampler: steps must be an integer from 1 to 100, not "0"'],
  ['steps=101', 'x-gen3d-sampler: steps must be an integer from 1 to 100, not "101"'],
  ['seed=-1', 'x-gen3d-sampler: seed must be an integer from 0 to 4294967295, not "-1"'],
  ['guidance=7', 'x-gen3d-sampler: "guidance" is not a setting: use seed and steps'],
])('the sampler setting %s is refused', async (sampler, message) => {
  const response = await send(await startServer(), sampler);
  expect(response.status).toBe(400);
  expect(ErrorBody.parse(response.body).error.message).toBe(message);
});

test('a network without steps fails the job with a sentence, and so does a retry, which has the same settings', async () => {
  const server = await startServer({ workers: 1, bundle: 'inflate', device: 'cpu' });
  const failed = await finished(server, 'seed=5');
  const retried = CreateJobResponse.parse((await server.call('POST', `/gen3d/jobs/${failed.task_id}/retry`)).body);
  for (const { error } of [failed, await finishedJob(server.call, retried.job_id)]) {
    expect(error).toEqual({
      code: 'inference_failed',
      message:
        'The network inflate makes a model in one step, so it has no seed and no number of steps. Send the photo without them.',
    });
  }
});
