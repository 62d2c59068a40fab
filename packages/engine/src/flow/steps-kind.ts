import type { Cutout } from '../base/image.js';
import type { Bundle } from '../bundle/load-bundle.js';
import { assumedSpeed, flopsOf } from '../device/cpu-speed.js';
import type { DecoderKind, Inputs, RunGraph, SelfTest } from '../field/decoder-kind.js';
import type { CameralessField } from '../field/density-field.js';
import { pointsOf } from '../field/points.js';
import type { ComputeDevice } from '../network/compute-device.js';
import { localSessions, type OpenSession, openDecoder, openEncoder, type Session } from '../network/session.js';
import { toInput } from '../photo/frame.js';
import { filled, normalNoise, openLatents, openStep, openSteps, type StepsManifest, stepInputs } from './steps.js';

/** Latent tokens for a step graph that takes any number. A CPU would take a minute for the 2,048 of a large model. */
const stepTokens = 256;

/** Implements the kind `steps`: a rectified flow over a set of latent tokens, whose result is decoded at points. */
export const stepsKind: DecoderKind = {
  inSteps: true,
  // Such a shape follows the photo's outline better than a fitted camera shows it.
  carved: false,
  anyYaw: true,
  open: openSteps,
  exercise,
  selfTests: flowTests,
};

/** Opens and releases one graph at a time, because together they may not fit into memory. */
async function exercise(bundle: Bundle<StepsManifest>, open: OpenSession, image: Inputs, run: RunGraph): Promise<void> {
  const { decoder } = bundle.manifest;
  const { sampler, channels } = decoder;
  const runOnce = (session: Session, inputs: Inputs) => run(session, inputs).finally(() => session.release());

  const encoder = await openEncoder(bundle, open);
  const encoded = await runOnce(encoder, image);

  const step = await openStep(bundle, encoder, open);
  const tokens = step.shapeOf(decoder.step.latents)[1] ?? Math.min(stepTokens, decoder.tokens);
  const noise = { shape: [1, tokens, channels], data: normalNoise(sampler.seed, tokens * channels) };
  const middle = { timestep: sampler.timestepScale / 2, stepSize: 1 / sampler.steps };
  const imageTokens = filled(encoder, decoder.imageTokens, encoded.get(decoder.imageTokens)!);
  await runOnce(step, stepInputs(decoder, noise, imageTokens, middle));

  const latents = await openLatents(bundle, open);
  const codes = await runOnce(latents, { [decoder.latentsGraph.latents]: noise });

  const points = await openDecoder(bundle, decoder, latents, open);
  await runOnce(points, {
    [decoder.sceneCodes]: filled(latents, decoder.sceneCodes, codes.get(decoder.sceneCodes)!),
    [decoder.points]: pointsOf(decoder, points),
  });
}

/** @param slow whether the CPU runs the bundle without being asked to */
function flowTests(bundle: Bundle<StepsManifest>, device: ComputeDevice, slow: boolean): SelfTest[] {
  const minutes = Math.ceil(flopsOf(bundle.manifest.decoder) / assumedSpeed() / 60);
  return [
    { name: 'the first step moves away from the noise', run: () => leavesNoise(bundle, device) },
    {
      name: 'a photo of a ball becomes one solid inside the box',
      run: () => solidBall(bundle, device),
      ...(slow && { skipped: `about ${minutes} minutes on this CPU; GEN3D_DEVICE=cpu runs it` }),
    },
  ];
}

/**
 * A trained flow estimates shape minus noise, so at full noise its correlation with the noise is about
 * -1 / sqrt(1 + the shape's variance). With a wrong time, sign or order of channels, it is about 0.
 */
const leastCorrelation = -0.3;

/** Latent tokens on a CPU, which would take minutes for all of a large model. */
const cpuTokens = 256;

async function leavesNoise(bundle: Bundle<StepsManifest>, device: ComputeDevice) {
  const { decoder, input } = bundle.manifest;
  const open = localSessions({ device });
  const encoder = await openEncoder(bundle, open);
  const shape = [1, input.channels, input.size, input.size];
  const encoded = await encoder
    .run({ [input.tensor]: { shape, data: toInput(ball(input.size), input) } })
    .finally(() => encoder.release());
  const step = await openStep(bundle, encoder, open);
  const most = device.provider === 'cpu' ? Math.min(cpuTokens, decoder.tokens) : decoder.tokens;
  const tokens = step.shapeOf(decoder.step.latents)[1] ?? most;
  const noise = normalNoise(decoder.sampler.seed, tokens * decoder.channels);
  const latents = { shape: [1, tokens, decoder.channels], data: noise };
  const imageTokens = filled(encoder, decoder.imageTokens, encoded.get(decoder.imageTokens)!);
  const unguided = { ...decoder, sampler: { ...decoder.sampler, guidance: 1 } };
  const first = { timestep: decoder.sampler.timestepScale, stepSize: 1 };
  const outputs = await step.run(stepInputs(unguided, latents, imageTokens, first)).finally(() => step.release());
  const velocity = outputs.get(decoder.step.nextLatents)!.map((value, i) => value - noise[i]!);
  const found = correlation(velocity, noise);
  return { passed: found < leastCorrelation, detail: `correlation with the noise ${found.toFixed(2)}` };
}

function correlation(a: Float32Array, b: Float32Array): number {
  let [product, squareA, squareB] = [0, 0, 0];
  for (const [i, value] of a.entries()) {
    product += value * b[i]!;
    squareA += value ** 2;
    squareB += b[i]! ** 2;
  }
  return product / Math.sqrt(squareA * squareB);
}

/** Samples along each axis of the box. */
const side = 24;

async function solidBall(bundle: Bundle<StepsManifest>, device: ComputeDevice) {
  const networks = await openSteps(bundle, localSessions({ device }));
  try {
    const start = performance.now();
    const field = await networks.encode(ball(bundle.manifest.input.size));
    const seconds = (performance.now() - start) / 1000;
    const { inside, onFaces, extents } = await measure(field);
    const ratio = Math.max(...extents) / Math.min(...extents);
    return {
      passed: inside > 0.01 && onFaces < 0.02 && ratio < 1.5,
      detail: `${percent(inside)} of the box is inside, ${percent(onFaces)} of its faces, longest side ${ratio.toFixed(1)} times the shortest; ${seconds.toFixed(0)} s to sample`,
    };
  } finally {
    await networks.release();
  }
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

/** The shares of the box and of its faces that are inside, and the extents of the inside in samples. */
async function measure({ evaluate, bounds, threshold }: CameralessField) {
  const axis = [0, 1, 2] as const;
  const points = new Float32Array(3 * side ** 3);
  const stepsOf = (i: number) => [i % side, Math.floor(i / side) % side, Math.floor(i / side ** 2)] as const;
  for (let i = 0; i < side ** 3; i++) {
    const steps = stepsOf(i);
    for (const a of axis) {
      points[3 * i + a] = bounds.min[a] + ((bounds.max[a] - bounds.min[a]) * steps[a]) / (side - 1);
    }
  }
  const density = new Float32Array(side ** 3);
  await evaluate(points, density);
  let [inside, faces, onFaces] = [0, 0, 0];
  const low = [side, side, side];
  const high = [-1, -1, -1];
  for (const [i, value] of density.entries()) {
    const steps = stepsOf(i);
    const isFace = steps.some((step) => step === 0 || step === side - 1);
    if (isFace) faces++;
    if (value <= threshold) continue;
    inside++;
    if (isFace) onFaces++;
    for (const a of axis) {
      low[a] = Math.min(low[a]!, steps[a]);
      high[a] = Math.max(high[a]!, steps[a]);
    }
  }
  const extents = axis.map((a) => Math.max(0, high[a]! - low[a]! + 1));
  return { inside: inside / side ** 3, onFaces: onFaces / faces, extents };
}

/** A lit ball, cut out. */
function ball(size: number): Cutout {
  const data = new Uint8Array(4 * size * size);
  for (let i = 0; i < size * size; i++) {
    const x = (2 * (i % size) + 1) / size - 1;
    const y = (2 * Math.floor(i / size) + 1) / size - 1;
    const light = 230 - 110 * Math.hypot(x + 0.3, y + 0.3);
    data.set([light, 0.8 * light, 0.6 * light, Math.hypot(x, y) < 0.95 ? 255 : 0], 4 * i);
  }
  return { image: { width: size, height: size, data } };
}
