import type { Bundle } from '../bundle/load-bundle.js';
import type { DecoderKind, Inputs, RunGraph } from '../field/decoder-kind.js';
import { pointsOf } from '../field/points.js';
import { type OpenSession, openDecoder, openEncoder, type Session } from '../network/session.js';
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
