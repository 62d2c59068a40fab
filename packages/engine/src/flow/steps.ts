import { EngineError } from '../base/errors.js';
import type { Cutout } from '../base/image.js';
import type { Bundle } from '../bundle/load-bundle.js';
import type { StepsDecoder } from '../bundle/manifest.js';
import { type BoxManifest, boxedField, type PointDecoder } from '../field/boxed-field.js';
import type { EncodeOptions, FieldNetworks } from '../field/decoder-kind.js';
import { pointsDecoder } from '../field/points.js';
import {
  type FloatTensor,
  type OpenSession,
  openDecoder,
  openEncoder,
  openSession,
  type Session,
} from '../network/session.js';
import { toInput } from '../photo/frame.js';

export type StepsManifest = BoxManifest & { readonly decoder: StepsDecoder };

/** @throws {BundleError} if a graph cannot be loaded, or does not fit the manifest or another graph */
export async function openSteps(
  bundle: Bundle<StepsManifest>,
  open: OpenSession = openSession,
): Promise<FieldNetworks> {
  const { manifest } = bundle;
  const { input, decoder } = manifest;
  const encoder = await openEncoder(bundle, open);
  const step = await openStep(bundle, encoder, open);
  const latentsGraph = await openLatents(bundle, open);
  const points = await openDecoder(bundle, decoder, latentsGraph, open);
  const latentsShape = [1, decoder.tokens, decoder.channels];

  /** @returns the scene codes */
  async function sample(cutout: Cutout, options?: EncodeOptions): Promise<FloatTensor> {
    const shape = [1, input.channels, input.size, input.size];
    const encoded = await encoder.run({ [input.tensor]: { shape, data: toInput(cutout, input) } });
    const imageTokens = filled(encoder, decoder.imageTokens, encoded.get(decoder.imageTokens)!);
    const sampler = { ...decoder.sampler, ...options?.sampler };
    const noise = normalNoise(sampler.seed, decoder.tokens * decoder.channels);
    // The latents go through the host between two steps: 0.5 MB for TripoSG, which is little compared with the work of
    // a step. onnxruntime could keep them on some devices, but releasing such a tensor can abort the process
    // (microsoft/onnxruntime#32346).
    const latents = await sampleLatents(
      noise,
      sampler,
      async (latents, samplerStep) => {
        const outputs = await step.run(
          stepInputs(decoder, { shape: latentsShape, data: latents }, imageTokens, samplerStep),
        );
        return outputs.get(decoder.step.nextLatents)!;
      },
      options,
    );
    if (!latents.every(Number.isFinite)) {
      throw new EngineError('inference_failed', 'The network returned a value that is not a number (NaN).');
    }
    const codes = await latentsGraph.run({ [decoder.latentsGraph.latents]: { shape: latentsShape, data: latents } });
    return filled(latentsGraph, decoder.sceneCodes, codes.get(decoder.sceneCodes)!);
  }

  return {
    async encode(cutout, options) {
      const decode = pointsDecoder(decoder, points, await sample(cutout, options));
      return boxedField(manifest, await insideAbove(manifest, decode), undefined);
    },
    async release() {
      for (const session of [encoder, step, latentsGraph, points]) await session.release();
    },
  };
}

/** Opens the graph of a step of the sampler, and checks that it takes the encoder's output. */
export function openStep(
  bundle: Bundle<StepsManifest>,
  encoder: Session,
  open: OpenSession = openSession,
): Promise<Session> {
  const { step, imageTokens, tokens, channels } = bundle.manifest.decoder;
  const inputs = [
    { name: step.latents, shape: [1, tokens, channels] },
    { name: imageTokens, shape: encoder.shapeOf(imageTokens), says: `${bundle.manifest.graph} gives` },
    { name: step.timestep, shape: [1] },
    { name: step.stepSize, shape: [1] },
    { name: step.guidance, shape: [1] },
  ];
  return open(bundle, step.graph, inputs, [{ name: step.nextLatents, shape: [1, null, channels] }]);
}

/** Opens the graph from latents to scene codes. */
export function openLatents(bundle: Bundle<StepsManifest>, open: OpenSession): Promise<Session> {
  const { latentsGraph, sceneCodes, tokens, channels } = bundle.manifest.decoder;
  const inputs = [{ name: latentsGraph.latents, shape: [1, tokens, channels] }];
  return open(bundle, latentsGraph.graph, inputs, [{ name: sceneCodes, shape: [] }]);
}

/** Builds the inputs of the step graph. */
export const stepInputs = (
  { step, imageTokens: imageTokensName, sampler }: StepsDecoder,
  latents: FloatTensor,
  imageTokens: FloatTensor,
  { timestep, stepSize }: SamplerStep,
): Record<string, FloatTensor> => ({
  [step.latents]: latents,
  [imageTokensName]: imageTokens,
  [step.timestep]: scalar(timestep),
  [step.stepSize]: scalar(stepSize),
  [step.guidance]: scalar(sampler.guidance),
});

const scalar = (value: number): FloatTensor => ({ shape: [1], data: Float32Array.of(value) });

/** Gives an output its shape in the graph. A size that the graph leaves open follows from the number of values. */
export function filled(session: Session, name: string, data: Float32Array): FloatTensor {
  const shape = session.shapeOf(name);
  let rest = data.length / shape.reduce<number>((product, size) => product * (size ?? 1), 1);
  return {
    data,
    // The batch size is 1, so the second axis takes what the others leave.
    shape: shape.map((size, axis) => {
      if (size !== null) return size;
      if (axis === 0) return 1;
      const open = rest;
      rest = 1;
      return open;
    }),
  };
}

/** Samples along each axis of a face of the box. */
const faceSamples = 12;

/**
 * Wraps the decoder so that values are higher inside than outside. Publishers use either sign, and some do not state
 * it, so it is determined on the faces of the box. A shape touches them at a few points at most.
 */
async function insideAbove({ decoder, threshold }: StepsManifest, points: PointDecoder): Promise<PointDecoder> {
  const below = decoder.inside ? decoder.inside === 'below' : await mostlyAbove(decoder.halfExtent, threshold, points);
  if (!below) return points;
  return {
    chunkSize: points.chunkSize,
    async decode(at) {
      const { density } = await points.decode(at);
      return { density: density.map((value) => 2 * threshold - value) };
    },
  };
}

async function mostlyAbove(halfExtent: number, threshold: number, { chunkSize, decode }: PointDecoder) {
  const faces: number[] = [];
  for (let i = 0; i < 6 * faceSamples ** 2; i++) {
    const face = Math.floor(i / faceSamples ** 2);
    const [u, v] = [i % faceSamples, Math.floor(i / faceSamples) % faceSamples].map(
      (step) => ((2 * step + 1) / faceSamples - 1) * halfExtent,
    ) as [number, number];
    const point = [u, v];
    point.splice(face % 3, 0, face < 3 ? halfExtent : -halfExtent);
    faces.push(...point);
  }
  const count = faces.length / 3;
  let above = 0;
  for (let start = 0; start < count; start += chunkSize) {
    const end = Math.min(start + chunkSize, count);
    const { density } = await decode(Float32Array.from(faces.slice(3 * start, 3 * end)));
    for (const value of density.subarray(0, end - start)) if (value > threshold) above++;
  }
  return above > count / 2;
}

/** The numbers that the step graph takes for one step of the sampler. */
export interface SamplerStep {
  readonly timestep: number;
  readonly stepSize: number;
}

/**
 * Computes the steps of a rectified flow's Euler sampler. Sigma, the share of noise, goes from 1 to 0 in equal steps. A
 * shift s above 1 moves it to s·sigma / (1 + (s - 1)·sigma), which has more steps at high noise.
 *
 * @see Esser et al., "Scaling Rectified Flow Transformers for High-Resolution Image Synthesis", 2024, section 5.3.2
 */
export function samplerSteps({ steps, shift, timestepScale }: StepsDecoder['sampler']): SamplerStep[] {
  const sigmaOf = (step: number) => {
    const sigma = 1 - step / steps;
    return (shift * sigma) / (1 + (shift - 1) * sigma);
  };
  return Array.from({ length: steps }, (_, i) => ({
    timestep: timestepScale * sigmaOf(i),
    stepSize: sigmaOf(i) - sigmaOf(i + 1),
  }));
}

/**
 * Runs all steps of the sampler.
 *
 * @param noise the latents at sigma 1
 * @param run computes the latents after a step
 * @throws the signal's reason, once aborted: between two steps
 */
export async function sampleLatents(
  noise: Float32Array,
  sampler: StepsDecoder['sampler'],
  run: (latents: Float32Array, step: SamplerStep) => Promise<Float32Array>,
  { signal, onProgress }: EncodeOptions = {},
): Promise<Float32Array> {
  let latents = noise;
  const steps = samplerSteps(sampler);
  for (const [i, step] of steps.entries()) {
    signal?.throwIfAborted();
    latents = await run(latents, step);
    onProgress?.((i + 1) / steps.length);
  }
  return latents;
}

/**
 * Generates independent numbers with a standard normal distribution, which are the same for a seed on every machine.
 *
 * Uniform numbers are the upper 24 bits of xoshiro128**, plus one half, divided by 2^24. Its state is the first four
 * outputs of splitmix32 for the seed. Each pair (u, v) gives two normal ones: sqrt(-2 ln u) times cos(2πv) and
 * sin(2πv).
 * @param seed 0 to 2^32 - 1
 * @see Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM TOMS 2021
 * @see Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958
 */
export function normalNoise(seed: number, count: number): Float32Array {
  const uniform = xoshiro(seed);
  const noise = new Float32Array(count);
  for (let i = 0; i < count; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(uniform()));
    const angle = 2 * Math.PI * uniform();
    noise[i] = radius * Math.cos(angle);
    if (i + 1 < count) noise[i + 1] = radius * Math.sin(angle);
  }
  return noise;
}

/** Numbers above 0 and below 1. */
function xoshiro(seed: number): () => number {
  const state = splitmix(seed);
  return () => {
    const [a, b, c, d] = state as unknown as [number, number, number, number];
    const result = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0;
    state[2] = c ^ a;
    state[3] = d ^ b;
    state[1] = b ^ state[2]!;
    state[0] = a ^ state[3]!;
    state[2]! ^= b << 9;
    state[3] = rotate(state[3]!, 11);
    return ((result >>> 8) + 0.5) / 2 ** 24;
  };
}

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

/** Returns four words. For any two seeds, they differ in about half of their bits. */
function splitmix(seed: number): Uint32Array {
  return Uint32Array.from({ length: 4 }, (_, i) => {
    let word = (seed + Math.imul(i + 1, 0x9e3779b9)) | 0;
    word = Math.imul(word ^ (word >>> 16), 0x21f0aaad);
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
    return word ^ (word >>> 15);
  });
}
