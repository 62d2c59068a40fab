import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bundleOfKind, loadBundle } from '../bundle/load-bundle.js';
import { openEncoder, openStep } from '../network/session.js';
import { flowModel, readFlowReference, writeFlowModel } from '../skeleton/flow-model.fixture.js';
import { sampleLatents } from './sample-latents.js';
import { isSteps, stepInputs } from './steps.js';

test('the sampler gives the latents of PyTorch after each of 8 steps, within 1e-5', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gen3d-sampler-'));
  const bundle = bundleOfKind(await loadBundle(await writeFlowModel(folder)), 'reconstruction');
  if (!isSteps(bundle)) throw new Error('the fixture is of another kind');
  const { decoder } = bundle.manifest;
  const expected = await readFlowReference();
  expect(decoder.sampler).toMatchObject({ steps: expected.steps, guidance: expected.guidance });
  const encoder = await openEncoder(bundle);
  const step = await openStep(bundle, decoder, encoder);
  const imageTokens = { shape: [1, flowModel.imageTokens, flowModel.imageChannels], data: expected.imageTokens };
  const found: Float32Array[] = [];
  await sampleLatents(expected.noise, decoder.sampler, async (data, samplerStep) => {
    const latents = { shape: [1, flowModel.tokens, flowModel.channels], data };
    const outputs = await step.run(stepInputs(decoder, latents, imageTokens, samplerStep));
    found.push(outputs.get(decoder.step.nextLatents)!);
    return found.at(-1)!;
  });
  const errors = expected.latents.map(
    (latents, i) => Math.hypot(...latents.map((value, k) => found[i]![k]! - value)) / Math.hypot(...latents),
  );
  expect(errors).toHaveLength(8);
  expect(Math.max(...errors)).toBeLessThan(1e-5);
  await encoder.release();
  await step.release();
  await rm(folder, { recursive: true });
});
