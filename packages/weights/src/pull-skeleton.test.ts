import { copyFileSync, writeFileSync } from 'node:fs';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findBundle, testBundle, verifyBundle } from '@gen3d/engine';
import { beforeEach, describe, expect, test } from 'vitest';
import type { OnnxWeights } from '../../engine/src/bundle/onnx.fixture.js';
import { runBundle } from '../../engine/src/checks/parity-run.js';
import { ComputeDevice } from '../../engine/src/network/compute-device.js';
import { temporaryFolder } from '../../engine/src/temporary-folder.fixture.js';
import { site } from '../../server/test/site.js';
import { type PullOptions, type PullRequirements, pullBundle } from './pull.js';
import { type BallSkeleton, safetensors, writeBallSkeleton } from './skeleton/skeleton.fixture.js';
import type { CheckpointOptions } from './source.js';

let folder: string;
let pulled: string;
let ball: BallSkeleton;
let requests: string[];
let origin: string;

beforeEach(async () => {
  folder = temporaryFolder();
  pulled = join(folder, 'pulled');
  requests = [];
  origin = await site(async (request, response) => {
    requests.push([request.url, request.headers.range].filter(Boolean).join(' '));
    response.end(await readFile(join(folder, request.url!)));
  });
  ball = await writeBallSkeleton(folder, origin);
});

const pull = (checkpoint: CheckpointOptions = {}, options: Partial<PullOptions> = {}) =>
  pullBundle('ball', {
    directory: pulled,
    modelDirs: [ball.models, pulled],
    check: testBundle,
    pauseMs: 1,
    checkpoint,
    ...options,
  });

test('a checkpoint becomes a bundle whose graphs refer to the unchanged published file', async () => {
  const bundle = await pull();
  await verifyBundle(bundle);
  const files = ['NOTICE.md', 'ball.safetensors', 'decoder.onnx', 'encoder.onnx', 'manifest.json'];
  expect((await readdir(bundle.directory)).sort()).toEqual(files);
  expect(await readFile(join(bundle.directory, 'ball.safetensors'))).toEqual(await readFile(ball.checkpoint));
  expect(bundle.manifest.origin).toMatchObject({ precision: 'fp32' });
  const planes = ball.weights.find(({ name }) => name === 'planes')!;
  expect(await sceneCodes()).toEqual(planes.data);
  expect(requests).toEqual(['/ball.safetensors']);
});

test('an installed bundle is not fetched again, but converted again to another precision', async () => {
  await pull();
  await pull();
  expect(requests).toHaveLength(1);
  expect((await pull({ precision: 'fp16' })).manifest.title).toBe('A ball (fp16)');
});

test('fp16 halves the large weights, and does not keep the checkpoint', async () => {
  const bundle = await pull({ precision: 'fp16' });
  await verifyBundle(bundle);
  expect(await readdir(bundle.directory)).not.toContain('ball.safetensors');
  const planes = ball.weights.find(({ name }) => name === 'planes')!.data as Float32Array;
  const codes = await sceneCodes();
  expect(codes.some((value, i) => value !== planes[i])).toBe(true);
  for (const [i, value] of codes.entries()) expect(Math.abs(value - planes[i]!)).toBeLessThan(2 ** -11);
});

test('a precision that the bundle does not have is refused before anything is fetched', async () => {
  await rm(join(ball.models, 'skeletons/ball/encoder-fp16.onnx'));
  await expect(pull({ precision: 'fp16' })).rejects.toThrow(
    'A ball is not available in fp16. Pull it without --precision',
  );
  expect(requests).toEqual([]);
});

test('onStart gets the requirements before anything is fetched', async () => {
  const seen: PullRequirements[] = [];
  await pull(
    { precision: 'fp16' },
    { onStart: (requirements) => seen.push({ ...requirements, ...{ requests: [...requests] } }) },
  );
  const { size } = (await findBundle('ball', [pulled])).manifest.origin!.checkpoint;
  expect(seen).toMatchObject([{ title: 'A ball', download: size, memory: 1e9, requests: [] }]);
  expect(seen[0]!.disk).toBeGreaterThan(size);
  expect(seen[0]!.freeDisk).toBeGreaterThan(seen[0]!.disk);
});

test('with too little disk space, nothing is fetched', async () => {
  const catalog = join(ball.models, 'catalog.json');
  const text = await readFile(catalog, 'utf8');
  await writeFile(catalog, text.replace(/"size":\d{5}/, '"size":1000000000000000'));
  await expect(pull()).rejects.toThrow(/^The bundle needs 1000000\.0 GB in .*pulled, where [\d.]+ GB are free$/);
  expect(requests).toEqual([]);
  expect(await readdir(pulled)).toEqual([]);
});

describe('a file on this machine', () => {
  test('replaces the download', async () => {
    await verifyBundle(await pull({ from: ball.checkpoint }));
    expect(requests).toEqual([]);
  });

  test('is refused if it is not the published one, and nothing is installed', async () => {
    const other = join(folder, 'other.safetensors');
    await writeFile(other, (await readFile(ball.checkpoint)).fill(1, 2000));
    await expect(pull({ from: other })).rejects.toThrow(/other\.safetensors is not the published file: SHA-256 /);
    await writeFile(other, safetensors(ball.weights.slice(1)));
    await expect(pull({ from: other })).rejects.toThrow(/other\.safetensors is not the published file: it has /);
    await expect(pull({ from: join(folder, 'missing') })).rejects.toThrow(/missing cannot be read: ENOENT/);
    await expect(findBundle('ball', [pulled])).rejects.toThrow(/No bundle called ball/);
  });

  test('is refused if it changes after it was checked', async () => {
    const copy = join(folder, 'copy.safetensors');
    copyFileSync(ball.checkpoint, copy);
    const { size } = await stat(copy);
    const onStart = () => writeFileSync(copy, Buffer.alloc(size, 1));
    await expect(pull({ from: copy }, { onStart })).rejects.toThrow(`${copy} changed while it was copied. Pull again`);
    await expect(findBundle('ball', [pulled])).rejects.toThrow(/No bundle called ball/);
  });

  test('leaves no copy if the pull is interrupted, unlike a download, which the next pull resumes', async () => {
    const left = async (checkpoint: CheckpointOptions) => {
      const stop = new AbortController();
      const check = async () => {
        stop.abort();
        throw new Error('interrupted');
      };
      await expect(pull(checkpoint, { check, signal: stop.signal })).rejects.toThrow('interrupted');
      return readdir(pulled);
    };
    expect(await left({ from: ball.checkpoint })).toEqual([]);
    expect(await left({})).toEqual(['.ball.pull']);
  });
  test('is refused if it is a folder, and nothing is copied', async () => {
    await expect(pull({ from: folder })).rejects.toThrow(`${folder} is not a file`);
    await expect(readdir(pulled)).rejects.toThrow('ENOENT');
  });
});

describe('a published file', () => {
  const publish = (file: (weights: readonly OnnxWeights[]) => Buffer) => writeBallSkeleton(folder, origin, file);

  test('of other shapes than those of the network is refused', async () => {
    await publish((weights) => safetensors(weights.map((weight) => ({ ...weight, shape: [weight.data.length] }))));
    await expect(pull()).rejects.toThrow('tensor "planes" has the shape [6144], the network needs [1, 3, 2, 32, 32]');
    await publish((weights) => safetensors(weights.slice(1)));
    await expect(pull()).rejects.toThrow('has no tensor "planes"');
  });

  test('whose values are not numbers fails the test of the bundle', async () => {
    const data = (length: number) => new Float32Array(length).fill(Number.NaN);
    await publish((weights) => safetensors(weights.map((weight) => ({ ...weight, data: data(weight.data.length) }))));
    await expect(pull()).rejects.toThrow(/ball failed its self-test: output/);
    expect(await readdir(pulled)).toEqual([]);
  });

  test('that is not a checkpoint is named in the error', async () => {
    await publish(() => Buffer.alloc(5000));
    await expect(pull()).rejects.toThrow(
      /ball\.safetensors cannot be used: it is neither a safetensors file nor a PyTorch checkpoint/,
    );
    expect(await readdir(pulled)).toEqual([]);
  });

  test('whose values are not aligned is copied with alignment', async () => {
    await publish((weights) => safetensors(weights, 3));
    const bundle = await pull();
    expect((await readdir(bundle.directory)).sort()).toEqual([
      'NOTICE.md',
      'decoder.onnx',
      'encoder.onnx',
      'manifest.json',
      'weights.bin',
    ]);
    expect(await sceneCodes()).toEqual(ball.weights.find(({ name }) => name === 'planes')!.data);
  });
});

/** The output of the installed bundle's encoder for a test image: the stored planes. */
async function sceneCodes(): Promise<Float32Array> {
  const [encoder] = await runBundle(await findBundle('ball', [pulled]), new ComputeDevice());
  return encoder!.outputs.get('scene_codes')!;
}
