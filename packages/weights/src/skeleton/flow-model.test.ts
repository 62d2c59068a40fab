import { readdir } from 'node:fs/promises';
import { type Bundle, loadBundle } from '@gen3d/engine/bundles';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSession, type Session, type TensorSpec } from '../../../engine/src/network/session.js';
import { temporaryFolder } from '../../../engine/src/temporary-folder.fixture.js';
import { type FlowReference, flowModel, readFlowReference, writeFlowModel } from './flow-model.fixture.js';

const { imageSize, imageTokens, imageChannels, tokens, channels } = flowModel;
const latentsShape = [1, tokens, channels];

const folder = temporaryFolder(afterAll);
let expected: FlowReference;

beforeAll(async () => {
  expected = await readFlowReference();
});

async function using<T>(
  bundle: Bundle,
  file: string,
  output: TensorSpec,
  use: (session: Session) => Promise<T>,
): Promise<T> {
  const session = await openSession(bundle, file, [], [output]);
  return use(session).finally(() => session.release());
}

const tensor = (shape: readonly number[], data: Float32Array) => ({ shape, data });
const scalar = (value: number) => tensor([1], Float32Array.of(value));

/** The norm of the error relative to the norm of the expected values. */
function error(found: Float32Array | undefined, values: Float32Array): number {
  expect(found).toHaveLength(values.length);
  return Math.hypot(...values.map((value, i) => found![i]! - value)) / Math.hypot(...values);
}

async function errors(bundle: Bundle): Promise<{ image: number; steps: number[]; density: number }> {
  const image = await using(bundle, 'encoder.onnx', { name: 'image_tokens', shape: [] }, async (session) => {
    const outputs = await session.run({ image: tensor([1, 3, imageSize, imageSize], expected.image) });
    return error(outputs.get('image_tokens'), expected.imageTokens);
  });
  const steps = await using(bundle, 'step.onnx', { name: 'next_latents', shape: latentsShape }, async (session) => {
    const found: number[] = [];
    let latents = expected.noise;
    for (const [i, next] of expected.latents.entries()) {
      const outputs = await session.run({
        latents: tensor(latentsShape, latents),
        image_tokens: tensor([1, imageTokens, imageChannels], expected.imageTokens),
        timestep: scalar(1000 * (1 - i / expected.steps)),
        step_size: scalar(1 / expected.steps),
        guidance: scalar(expected.guidance),
      });
      latents = outputs.get('next_latents')!;
      found.push(error(latents, next));
    }
    return found;
  });
  const codes = await using(bundle, 'latents.onnx', { name: 'scene_codes', shape: [] }, async (session) => {
    const outputs = await session.run({ latents: tensor(latentsShape, expected.latents.at(-1)!) });
    return outputs.get('scene_codes')!;
  });
  const density = await using(bundle, 'points.onnx', { name: 'density', shape: [] }, async (session) => {
    const outputs = await session.run({
      scene_codes: tensor([1, tokens, codes.length / tokens], codes),
      points: tensor([1, expected.points.length / 3, 3], expected.points),
    });
    return error(outputs.get('density'), expected.density);
  });
  return { image, steps, density };
}

test("in float32, tokens, the latents after each step and the field are PyTorch's", async () => {
  const { image, steps, density } = await errors(await loadBundle(await writeFlowModel(folder)));
  expect(image).toBeLessThan(1e-5);
  expect(steps).toHaveLength(8);
  expect(Math.max(...steps)).toBeLessThan(1e-5);
  expect(density).toBeLessThan(1e-5);
});

test('in half precision, each checkpoint gets its own file, and the results stay within a hundredth', async () => {
  const directory = await writeFlowModel(folder, { name: 'flow-model-fp16', precision: 'fp16' });
  const names = (await readdir(directory)).filter((name) => /safetensors|bin$/.test(name));
  expect(names.sort()).toEqual(['image_encoder.bin', 'transformer.bin', 'vae.bin']);
  const { image, steps, density } = await errors(await loadBundle(directory));
  expect(image).toBeGreaterThan(1e-5);
  for (const one of [image, ...steps, density]) expect(one).toBeLessThan(0.01);
});
