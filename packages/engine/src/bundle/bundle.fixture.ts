import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReconstructionManifest } from './manifest.js';
import { type OnnxGraph, type OnnxNode, type OnnxWeights, onnxFile } from './onnx.fixture.js';

/** Half the box of the ball bundles, as in TripoSR. */
export const ballHalfExtent = 0.87;

const channels = 2;
const planeSize = 32;
const imageSize = 16;

export interface BallOptions {
  readonly kind: 'points' | 'planes';
  /** The ball's radius in the box's units. Default 0.5. */
  readonly radius?: number;
  /** Added to the squared radius at a position of plane 0, 1 or 2, for other shapes than a ball. */
  readonly dents?: (plane: number, a: number, b: number) => number;
  /** The points graph accepts only this number of points. Default: any. */
  readonly points?: number;
  readonly manifest?: Partial<ReconstructionManifest>;
  readonly decoder?: Partial<ReconstructionManifest['decoder']>;
}

/**
 * Writes a bundle whose result is always a ball in the middle of the box, colored by position: red, green and blue are
 * 0.5 + 0.5·(x, y, z) / halfExtent along the box's axes. The density is 25 at the ball's surface and decreases by 100
 * per unit of squared radius. Axes and threshold are TripoSR's.
 *
 * @returns the bundle's folder
 */
export async function writeBallBundle(folder: string, name: string, options: BallOptions): Promise<string> {
  const directory = join(folder, name);
  await mkdir(directory, { recursive: true });
  const graphs = Object.entries(ballGraphs(options)).map(([file, graph]) => [file, onnxFile(graph)] as const);
  for (const [file, bytes] of graphs) await writeFile(join(directory, file), bytes);
  const files = graphs.map(([file, bytes]) => ({
    name: file,
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }));
  await writeFile(join(directory, 'manifest.json'), JSON.stringify({ ...ballManifest(name, options), files }, null, 2));
  return directory;
}

/** Makes the graphs of a ball bundle, by file. */
export const ballGraphs = ({ kind, radius = 0.5, points, dents }: BallOptions): Record<string, OnnxGraph> => ({
  'encoder.onnx': ballEncoder(dents),
  'decoder.onnx': kind === 'planes' ? planesDecoder(radius) : pointsDecoder(radius, points),
});

/** Makes the manifest of a ball bundle, without its files. */
export function ballManifest(name: string, options: BallOptions) {
  const terms = { license: 'MIT', source: 'this test' };
  return {
    formatVersion: 1,
    kind: 'reconstruction',
    name,
    title: 'A ball',
    description: 'Makes a ball of everything.',
    license: { code: terms, weights: terms, trainingData: terms },
    graph: 'encoder.onnx',
    input: {
      tensor: 'image',
      size: imageSize,
      channels: 3,
      mean: [0, 0, 0],
      std: [255, 255, 255],
      background: 0.5,
      foregroundRatio: 0.85,
    },
    decoder: {
      kind: options.kind,
      graph: 'decoder.onnx',
      sceneCodes: 'scene_codes',
      density: 'density',
      color: 'color',
      halfExtent: ballHalfExtent,
      up: '+z',
      front: '+x',
      ...(options.kind === 'planes'
        ? { features: 'features', planeChannels: channels, planeSize }
        : { points: 'points' }),
      ...options.decoder,
    },
    threshold: 25,
    camera: { fovDegrees: 40, distance: 1.9 },
    ...options.manifest,
  };
}

/**
 * Plane (a, b) has (a² + b²) / 2 in its first channel, so that the three add up to the squared radius; x, z, y in the
 * second.
 */
function ballPlanes(dents: BallOptions['dents']): Float32Array {
  const values = new Float32Array(3 * channels * planeSize * planeSize);
  const at = (texel: number) => (((texel + 0.5) / planeSize) * 2 - 1) * ballHalfExtent;
  let i = 0;
  for (let plane = 0; plane < 3; plane++) {
    for (let channel = 0; channel < channels; channel++) {
      for (let row = 0; row < planeSize; row++) {
        for (let column = 0; column < planeSize; column++) {
          const [a, b] = [at(column), at(row)];
          values[i++] = channel === 0 ? (a * a + b * b) / 2 + (dents?.(plane, a, b) ?? 0) : [a, b, a][plane]!;
        }
      }
    }
  }
  return values;
}

/** Ignores the photo, but uses its values, because the runtime drops unused inputs. */
const ballEncoder = (dents: BallOptions['dents']): OnnxGraph => ({
  inputs: [{ name: 'image', shape: [1, 3, imageSize, imageSize] }],
  outputs: [{ name: 'scene_codes', shape: [1, 3, channels, planeSize, planeSize] }],
  nodes: [
    { op: 'ReduceMean', inputs: ['image'], outputs: ['mean'], attributes: { keepdims: 0 } },
    { op: 'Mul', inputs: ['mean', 'none'], outputs: ['nothing'] },
    { op: 'Add', inputs: ['planes', 'nothing'], outputs: ['scene_codes'] },
  ],
  weights: [
    { name: 'none', shape: [], data: new Float32Array([0]) },
    { name: 'planes', shape: [1, 3, channels, planeSize, planeSize], data: ballPlanes(dents) },
  ],
});

/** Makes the network after the sampled planes of both kinds, which turns `features` [.., 6] into density and color. */
const ballNetwork = (radius: number): Pick<OnnxGraph, 'nodes'> & { weights: OnnxWeights[] } => ({
  nodes: [
    { op: 'MatMul', inputs: ['features', 'density_weight'], outputs: ['falling'] },
    { op: 'Add', inputs: ['falling', 'density_bias'], outputs: ['density'] },
    { op: 'MatMul', inputs: ['features', 'color_weight'], outputs: ['position'] },
    { op: 'Add', inputs: ['position', 'gray'], outputs: ['color'] },
  ],
  weights: [
    { name: 'density_weight', shape: [6, 1], data: new Float32Array([-100, 0, -100, 0, -100, 0]) },
    { name: 'density_bias', shape: [], data: new Float32Array([25 + 100 * radius ** 2]) },
    {
      name: 'color_weight',
      shape: [6, 3],
      // The features are r², x, r², z, r², y, with a third of r² in each.
      data: new Float32Array([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0]).map(
        (weight) => (0.5 / ballHalfExtent) * weight,
      ),
    },
    { name: 'gray', shape: [], data: new Float32Array([0.5]) },
  ],
});

const planesDecoder = (radius: number): OnnxGraph => ({
  inputs: [{ name: 'features', shape: ['N', 3 * channels] }],
  outputs: [
    { name: 'density', shape: ['N', 1] },
    { name: 'color', shape: ['N', 3] },
  ],
  ...ballNetwork(radius),
});

function pointsDecoder(radius: number, points: number | string = 'P'): OnnxGraph {
  const { nodes, weights } = ballNetwork(radius);
  const axes = ['xy', 'xz', 'yz'];
  const sampling = axes.flatMap((plane): OnnxNode[] => [
    { op: 'Gather', inputs: ['unit_points', `axes_${plane}`], outputs: [`at_${plane}`], attributes: { axis: 2 } },
    { op: 'Unsqueeze', inputs: [`at_${plane}`, 'one'], outputs: [`grid_${plane}`] },
    { op: 'Gather', inputs: ['scene_codes', `index_${plane}`], outputs: [`plane_${plane}`], attributes: { axis: 1 } },
    { op: 'GridSample', inputs: [`plane_${plane}`, `grid_${plane}`], outputs: [`sampled_${plane}`] },
  ]);
  return {
    inputs: [
      { name: 'scene_codes', shape: ['batch', 3, channels, planeSize, planeSize] },
      { name: 'points', shape: [1, points, 3] },
    ],
    outputs: [
      { name: 'density', shape: [1, points, 1] },
      { name: 'color', shape: [1, points, 3] },
    ],
    nodes: [
      { op: 'Div', inputs: ['points', 'half_extent'], outputs: ['unit_points'] },
      ...sampling,
      { op: 'Concat', inputs: axes.map((plane) => `sampled_${plane}`), outputs: ['stacked'], attributes: { axis: 1 } },
      { op: 'Squeeze', inputs: ['stacked', 'two'], outputs: ['flat'] },
      { op: 'Transpose', inputs: ['flat'], outputs: ['features'], attributes: { perm: [0, 2, 1] } },
      ...nodes,
    ],
    weights: [
      ...weights,
      { name: 'half_extent', shape: [], data: new Float32Array([ballHalfExtent]) },
      { name: 'one', shape: [1], data: new BigInt64Array([1n]) },
      { name: 'two', shape: [1], data: new BigInt64Array([2n]) },
      ...axes.flatMap((plane, index): OnnxWeights[] => [
        {
          name: `axes_${plane}`,
          shape: [2],
          data: BigInt64Array.from([...plane], (axis) => BigInt('xyz'.indexOf(axis))),
        },
        { name: `index_${plane}`, shape: [], data: new BigInt64Array([BigInt(index)]) },
      ]),
    ],
  };
}

/** Writes a matting bundle for which bright pixels are the object. @returns the bundle's folder */
export async function writeMatteBundle(folder: string, name: string): Promise<string> {
  const directory = join(folder, name);
  await mkdir(directory, { recursive: true });
  const bytes = onnxFile({
    inputs: [{ name: 'input', shape: [1, 3, imageSize, imageSize] }],
    outputs: [{ name: 'output', shape: [1, 1, imageSize, imageSize] }],
    nodes: [{ op: 'Conv', inputs: ['input', 'weights'], outputs: ['output'] }],
    weights: [{ name: 'weights', shape: [1, 3, 1, 1], data: Float32Array.of(1 / 3, 1 / 3, 1 / 3) }],
  });
  await writeFile(join(directory, 'matte.onnx'), bytes);
  const terms = { license: 'MIT', source: 'this test' };
  const manifest = {
    formatVersion: 1,
    kind: 'matte',
    name,
    title: 'Bright pixels',
    description: 'Bright pixels are the object.',
    license: { code: terms, weights: terms, trainingData: terms },
    graph: 'matte.onnx',
    files: [{ name: 'matte.onnx', size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }],
    input: { tensor: 'input', size: imageSize, mean: [0, 0, 0], std: [255, 255, 255] },
    output: 'output',
  };
  await writeFile(join(directory, 'manifest.json'), JSON.stringify(manifest));
  return directory;
}
