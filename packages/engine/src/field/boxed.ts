import { join } from 'node:path';
import { BundleError } from '../base/errors.js';
import type { Bundle } from '../bundle/load-bundle.js';
import { type OpenSession, openDecoder, openEncoder, type Session } from '../network/session.js';
import { toInput } from '../photo/frame.js';
import { type BoxManifest, boxedField, type PointDecoder } from './boxed-field.js';
import type { DecoderKind, FieldNetworks } from './decoder-kind.js';
import { learnedElevation } from './density-field.js';
import { pointsDecoder, pointsOf } from './points.js';
import { featuresOf, triplaneDecoder } from './triplane.js';

/** Implements the kinds `points` and `planes`: `encode` runs the encoder once, and the field runs the decoder. */
export const boxedKind: DecoderKind = {
  inSteps: false,
  carved: true,
  anyYaw: false,
  open: openBoxed,
  async exercise(bundle: Bundle<BoxManifest>, open, image, run) {
    const { decoder } = bundle.manifest;
    const encoder = await openEncoder(bundle, open);
    const session = await openDecoder(bundle, decoder, encoder, open);
    try {
      const data = (await run(encoder, image)).get(decoder.sceneCodes)!;
      await run(
        session,
        decoder.kind === 'planes'
          ? { [decoder.features]: featuresOf(data, decoder, session) }
          : {
              [decoder.sceneCodes]: { shape: sceneCodesShape(bundle, encoder, session), data },
              [decoder.points]: pointsOf(decoder, session),
            },
      );
    } finally {
      await encoder.release();
      await session.release();
    }
  },
};

async function openBoxed(bundle: Bundle<BoxManifest>, open?: OpenSession): Promise<FieldNetworks> {
  const { manifest } = bundle;
  const { input, elevation } = manifest;
  const encoder = await openEncoder(bundle, open);
  const decoder = await openDecoder(bundle, manifest.decoder, encoder, open);
  const bindSceneCodes = decoderBinding(bundle, encoder, decoder);
  return {
    async encode(cutout) {
      const shape = [1, input.channels, input.size, input.size];
      const outputs = await encoder.run({ [input.tensor]: { shape, data: toInput(cutout, input) } });
      const estimate = elevation === undefined ? undefined : learnedElevation(outputs.get(elevation)![0]!);
      return boxedField(manifest, bindSceneCodes(outputs.get(manifest.decoder.sceneCodes)!), estimate);
    },
    async release() {
      await encoder.release();
      await decoder.release();
    },
  };
}

function decoderBinding(
  bundle: Bundle<BoxManifest>,
  encoder: Session,
  session: Session,
): (sceneCodes: Float32Array) => PointDecoder {
  const { decoder } = bundle.manifest;
  if (decoder.kind === 'planes') return (sceneCodes) => triplaneDecoder(decoder, session, sceneCodes);
  const shape = sceneCodesShape(bundle, encoder, session);
  return (data) => pointsDecoder(decoder, session, { shape, data });
}

/**
 * Finds the shape of the scene codes that a `points` decoder takes. The manifest does not contain it, so one of the
 * graphs has to state it. Exporters leave the batch size open, which is 1 here.
 *
 * @throws {BundleError} if both graphs leave another size open
 */
function sceneCodesShape({ directory, manifest }: Bundle<BoxManifest>, encoder: Session, decoder: Session): number[] {
  const name = manifest.decoder.sceneCodes;
  const [output, input] = [encoder.shapeOf(name), decoder.shapeOf(name)];
  return Array.from({ length: Math.max(output.length, input.length, 1) }, (_, axis) => {
    const size = output[axis] ?? input[axis] ?? (axis === 0 && output.length + input.length > 0 ? 1 : undefined);
    if (size !== undefined) return size;
    throw new BundleError(
      `${join(directory, manifest.graph)}: output "${name}" leaves the size of axis ${axis} open, and so does the decoder: export it with fixed sizes`,
    );
  });
}
