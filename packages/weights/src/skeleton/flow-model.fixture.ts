import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ManifestWithoutGraphs, type Precision } from '@gen3d/engine/bundles';
import { assemble, readSkeleton } from './assemble.js';
import { safetensors } from './skeleton.fixture.js';
import type { MissingWeight } from './skeleton.js';

const fixture = join(import.meta.dirname, 'flow-model.fixture');

export const flowModel = { imageSize: 56, imageTokens: 17, imageChannels: 32, tokens: 64, channels: 8 };

/** The results of PyTorch for the inputs below, with these steps (models/lab/exporters/triposg/reference.py). */
export interface FlowReference {
  readonly steps: number;
  readonly guidance: number;
  /** [1, 3, S, S] and its tokens [1, L, C]. */
  readonly image: Float32Array;
  readonly imageTokens: Float32Array;
  /** The latents before the first step and after each step, each [1, T, C]. */
  readonly noise: Float32Array;
  readonly latents: readonly Float32Array[];
  /** [1, P, 3], and the field there for the last latents. */
  readonly points: Float32Array;
  readonly density: Float32Array;
}

export async function readFlowReference(): Promise<FlowReference> {
  const { steps, guidance, points, ...stored } = JSON.parse(await readFile(join(fixture, 'expected.json'), 'utf8'));
  const floats = (text: string) => new Float32Array(Uint8Array.from(Buffer.from(text, 'base64')).buffer);
  const size = flowModel.tokens * flowModel.channels;
  const latents = floats(stored.latents);
  return {
    steps,
    guidance,
    image: Float32Array.from(noise('image', 3 * flowModel.imageSize ** 2)),
    imageTokens: floats(stored.imageTokens),
    noise: Float32Array.from(noise('latents', size)),
    latents: Array.from({ length: steps }, (_, i) => latents.subarray(i * size, (i + 1) * size)),
    points: Float32Array.from(noise('points', 3 * points)),
    density: floats(stored.density),
  };
}

/**
 * Writes a bundle of TripoSG's family that is small enough for tests, through the same steps as `gen3d models pull`.
 * Its weights come from a formula, which PyTorch's reference shares.
 */
export async function writeFlowModel(
  folder: string,
  { name = 'flow-model', precision = 'fp32' }: { readonly name?: string; readonly precision?: Precision } = {},
): Promise<string> {
  const directory = join(folder, name);
  await mkdir(directory, { recursive: true });
  const { manifest, skeleton } = await writeCheckpoints(directory, name, precision);
  const [checkpoint, ...furtherCheckpoints] = manifest.files;
  const origin = { checkpoint: checkpoint!, furtherCheckpoints, precision, skeleton: skeleton.digest };
  const { unused } = await assemble(directory, { ...skeleton, notice: 'A test.' }, manifest, origin);
  for (const file of unused) await rm(join(directory, file));
  return directory;
}

/**
 * Writes a catalog whose only bundle, `flow-model`, is made from three checkpoints.
 *
 * @returns the folders of the catalog and of the checkpoints, in their publisher's layout
 */
export async function writeFlowCatalog(folder: string): Promise<{ models: string; published: string }> {
  const models = join(folder, 'flow-catalog');
  const published = join(folder, 'flow-published');
  await mkdir(join(models, 'skeletons'), { recursive: true });
  await mkdir(join(published, 'weights'), { recursive: true });
  await cp(fixture, join(models, 'skeletons', 'flow'), { recursive: true });
  const { manifest } = await writeCheckpoints(join(published, 'weights'), 'flow-model', 'fp32');
  const entry = {
    manifest,
    urls: Object.fromEntries(
      manifest.files.map(({ name }) => [name, `http://127.0.0.1:1/owner/name/resolve/main/weights/${name}`]),
    ),
    skeleton: {
      folder: 'skeletons/flow',
      notice: 'expected.json',
      memory: 1e9,
      gpuMemory: { fp32: 2e9, fp16: 1e9 },
      unaligned: true,
    },
  };
  await writeFile(join(models, 'catalog.json'), JSON.stringify({ formatVersion: 1, bundles: [entry] }));
  return { models, published };
}

async function writeCheckpoints(directory: string, name: string, precision: Precision) {
  const manifest = ManifestWithoutGraphs.parse(flowManifest(name));
  const skeleton = await readSkeleton(fixture, manifest, 'expected.json', precision);
  for (const file of manifest.files) {
    const weights = skeleton.weights.filter(({ checkpoint }) => checkpoint === file.name);
    const bytes = safetensors(weights.map(({ name, shape }) => ({ name, shape, data: weight(name, shape) })));
    await writeFile(join(directory, file.name), bytes);
    Object.assign(file, { size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') });
  }
  return { manifest, skeleton };
}

function flowManifest(name: string) {
  const terms = { license: 'MIT', source: 'this test' };
  const { imageSize, tokens, channels } = flowModel;
  return {
    formatVersion: 1,
    kind: 'reconstruction',
    name,
    title: 'A small flow model',
    description: 'For tests.',
    license: { code: terms, weights: terms, trainingData: terms },
    graph: 'encoder.onnx',
    files: ['image_encoder', 'transformer', 'vae'].map((part) => ({
      name: `${part}.safetensors`,
      size: 1,
      sha256: '0'.repeat(64),
    })),
    input: {
      tensor: 'image',
      size: imageSize,
      channels: 3,
      mean: [123.675, 116.28, 103.53],
      std: [58.395, 57.12, 57.375],
      background: 1,
      foregroundRatio: 0.95,
    },
    decoder: {
      kind: 'steps',
      imageTokens: 'image_tokens',
      step: {
        graph: 'step.onnx',
        latents: 'latents',
        timestep: 'timestep',
        stepSize: 'step_size',
        guidance: 'guidance',
        nextLatents: 'next_latents',
      },
      tokens,
      channels,
      sampler: { steps: 8, guidance: 7, timestepScale: 1000 },
      latentsGraph: { graph: 'latents.onnx', latents: 'latents' },
      sceneCodes: 'scene_codes',
      graph: 'points.onnx',
      points: 'points',
      density: 'density',
      flops: { step: 2.5e7, point: 4e4 },
      halfExtent: 1.005,
      up: '+y',
      front: '+z',
    },
    threshold: 0,
  };
}

/** Makes the same weight as models/lab/exporters/triposg/random_weights.py. */
function weight(name: string, shape: MissingWeight['shape']): Float32Array {
  const count = shape.reduce((product, size) => product * size, 1);
  const values = noise(name, count);
  if (name.endsWith('.bias')) return Float32Array.from(values, (value) => value * 0.1);
  if (shape.length === 1) return Float32Array.from(values, (value) => 1 + 0.1 * value);
  if (!name.endsWith('.weight')) return Float32Array.from(values);
  const scale = Math.sqrt(3 / (count / shape[0]!));
  return Float32Array.from(values, (value) => value * scale);
}

/** Numbers in -1..1 that depend on the name. */
function noise(name: string, count: number): Float64Array {
  let seed = 2_166_136_261;
  for (const byte of Buffer.from(name)) seed = Math.imul(seed ^ byte, 16_777_619);
  return Float64Array.from({ length: count }, (_, i) => {
    let x = Math.imul(i, 2_654_435_769) + seed;
    x = Math.imul(x ^ (x >>> 16), 0x85eb_ca6b);
    x = Math.imul(x ^ (x >>> 13), 0xc2b2_ae35);
    return ((x ^ (x >>> 16)) >>> 0) / 2 ** 31 - 1;
  });
}
