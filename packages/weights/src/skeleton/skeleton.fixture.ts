import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ballGraphs, ballManifest } from '../../../engine/src/bundle/bundle.fixture.js';
import { type OnnxGraph, type OnnxWeights, onnxFile } from '../../../engine/src/bundle/onnx.fixture.js';

export interface BallSkeleton {
  /** The folder with the catalog. */
  readonly models: string;
  /** The path of the published checkpoint. */
  readonly checkpoint: string;
  readonly weights: readonly OnnxWeights[];
}

/**
 * Writes a catalog whose only bundle, `ball`, is made from a skeleton and a safetensors file that `origin` serves.
 *
 * @param origin the URL of a server of `folder`
 * @param publish makes the published file of the weights
 */
export async function writeBallSkeleton(
  folder: string,
  origin: string,
  publish: (weights: readonly OnnxWeights[]) => Buffer = safetensors,
): Promise<BallSkeleton> {
  const models = join(folder, 'shipped');
  await mkdir(join(models, 'skeletons', 'ball'), { recursive: true });
  const { 'encoder.onnx': encoder, 'decoder.onnx': decoder } = ballGraphs({ kind: 'planes' });
  const skeletons = {
    'encoder.onnx': withoutWeights(encoder!, 'float32'),
    'encoder-fp16.onnx': withoutWeights(withHalfPlanes(encoder!), 'float16'),
    'decoder.onnx': withoutWeights(decoder!, 'float32'),
  };
  for (const [name, graph] of Object.entries(skeletons)) {
    await writeFile(join(models, 'skeletons', 'ball', name), onnxFile(graph));
  }
  await writeFile(join(models, 'skeletons', 'ball', 'NOTICE.md'), 'Give credit.');

  const weights = [...encoder!.weights!, ...decoder!.weights!].filter(isLarge);
  const checkpoint = join(folder, 'ball.safetensors');
  const bytes = publish(weights);
  await writeFile(checkpoint, bytes);
  const file = {
    name: 'ball.safetensors',
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
  const entry = {
    manifest: { ...ballManifest('ball', { kind: 'planes' }), files: [file] },
    urls: { [file.name]: `${origin}/ball.safetensors` },
    skeleton: { folder: 'skeletons/ball', notice: 'NOTICE.md', memory: 1e9 },
  };
  await writeFile(join(models, 'catalog.json'), JSON.stringify({ formatVersion: 1, bundles: [entry] }));
  return { models, checkpoint, weights };
}

const isLarge = ({ data }: OnnxWeights) => data.length > 1;

const withoutWeights = (graph: OnnxGraph, external: 'float32' | 'float16'): OnnxGraph => ({
  ...graph,
  weights: graph.weights!.map((weight) => (isLarge(weight) ? { ...weight, external } : weight)),
});

/** Changes the encoder so that `planes` is in half precision. */
const withHalfPlanes = (graph: OnnxGraph): OnnxGraph => ({
  ...graph,
  nodes: [
    { op: 'Cast', inputs: ['planes'], outputs: ['wide_planes'], attributes: { to: 1 } },
    ...graph.nodes.map((node) => ({
      ...node,
      inputs: node.inputs.map((name) => (name === 'planes' ? 'wide_planes' : name)),
    })),
  ],
});

/** Makes a safetensors file whose tensors are aligned to 64 bytes. @param shift bytes by which to misalign them */
export function safetensors(weights: readonly OnnxWeights[], shift = 0): Buffer {
  const padding = ({ data }: OnnxWeights) => -data.byteLength & 63;
  let next = 0;
  const entries = weights.map((weight) => {
    const start = next;
    const end = start + weight.data.byteLength;
    next = end + padding(weight);
    return [weight.name, { dtype: 'F32', shape: weight.shape, data_offsets: [start, end] }] as const;
  });
  const json = JSON.stringify(Object.fromEntries(entries));
  const header = json.padEnd(Math.ceil((8 + json.length) / 64) * 64 - 8 + shift);
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(header.length));
  const values = weights.flatMap((weight) => {
    const { buffer, byteOffset, byteLength } = weight.data;
    return [new Uint8Array(buffer, byteOffset, byteLength), Buffer.alloc(padding(weight))];
  });
  return Buffer.concat([prefix, Buffer.from(header), ...values]);
}
