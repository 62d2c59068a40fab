import { z } from 'zod';

/** A bundle's name is also its folder's: small letters, digits, dots and dashes, so that it can never be a path. */
export const BundleName = z
  .string()
  .regex(/^[a-z0-9]+([.-][a-z0-9]+)*$/, 'small letters and digits, joined by dots or dashes');

// Bundles travel: a manifest somebody else wrote must not be able to point outside its folder.
export const FileName = z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/, 'a plain file name inside the bundle folder');

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, '64 small hexadecimal digits');

const File = z.strictObject({ name: FileName, size: z.int().positive().describe('bytes'), sha256: Sha256 });
export type BundleFile = z.infer<typeof File>;

const Terms = z.strictObject({
  licence: z.string().min(1).describe('an SPDX identifier, or a sentence where no identifier fits'),
  source: z.string().min(1).describe('a URL, or a folder of this repository'),
});

/** How a bundle was made of a checkpoint that someone else publishes. */
const Origin = z.strictObject({
  checkpoint: File,
  published: z.boolean().describe('false: other weights of the same shapes than those the catalogue names'),
  precision: z.enum(['fp32', 'fp16']),
  skeleton: Sha256.describe('of the graphs before the offsets of the weights were written into them'),
});
export type Origin = z.infer<typeof Origin>;
export type Precision = Origin['precision'];

const PerChannel = z.tuple([z.number(), z.number(), z.number()]);

const common = {
  formatVersion: z.literal(1),
  name: BundleName,
  title: z.string().min(1),
  description: z.string().min(1),
  /** Each part has its own terms, and people must be able to see all three before they use a result for money. */
  licence: z.strictObject({ code: Terms, weights: Terms, trainingData: Terms }),
  graph: FileName.describe('the ONNX graph that looks at the photo'),
  files: z.array(File).min(1).describe('every file of the bundle but manifest.json and the texts for people'),
  origin: Origin.optional(),
};

const ImageInput = z.strictObject({
  tensor: z.string(),
  size: z.int().min(16).max(4096).describe('S of float32 [1, channels, S, S]'),
  // In units of bytes, because that is how every source states one of them: value = (byte - mean) / std.
  mean: PerChannel,
  std: PerChannel.refine((std) => std.every((value) => value > 0), 'must be above 0'),
});

const ReconstructionInput = ImageInput.extend({
  channels: z.union([z.literal(3), z.literal(4)]).describe('RGB, or RGB and the matte in 0..1'),
  background: z.number().min(0).max(1).describe('the gray, as sRGB value in 0..1, behind the cutout'),
  foregroundRatio: z.number().min(0.1).max(1).describe("longer side of the object's box / side of the frame"),
});

const Axis = z.enum(['+x', '-x', '+y', '-y', '+z', '-z']);

/** What a decoder that is sampled inside a box must say about the box; `columns` lives in the camera's frustum instead. */
const box = {
  sceneCodes: z.string().describe("the encoder's output tensor"),
  graph: FileName.describe('the ONNX graph of the decoder'),
  density: z.string().describe('output tensor [1, P, 1] of points, [P, 1] of planes'),
  color: z.string().describe('output tensor [1, P, 3] of points, [P, 3] of planes: sRGB in 0..1'),
  halfExtent: z.number().positive().describe('the box is ±halfExtent along each axis'),
  up: Axis,
  front: Axis.describe('towards the camera: where the side seen on the photo faces'),
};

const Decoder = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('columns'),
    frontDepth: z.string().describe('output tensor [1, C, C]: depth of the front surface, -1 near .. 1 far'),
    occupancy: z.string().describe('output tensor [1, steps, C, C]: logits at 0..steps-1 steps behind the front'),
    color: z.string().optional().describe('output tensor [1, 3, C, C], sRGB in 0..1: the side away from the camera'),
    size: z.int().min(2).optional().describe('C: columns a side, where it is not the side of the picture'),
    steps: z.int().min(2),
    // Networks are trained on photos already cropped to the object, so the crop's own field of view is less than the
    // camera's: 2 * atan(halfWidth / camera.distance).
    halfWidth: z
      .number()
      .positive()
      .describe("half the width of the frame in the middle of the box, in the camera's units"),
    halfDepth: z.number().positive().describe('half the depth of the box, in halfWidths'),
  }),
  z.strictObject({ kind: z.literal('points'), ...box, points: z.string().describe('input tensor [1, P, 3]') }),
  z.strictObject({
    kind: z.literal('planes'),
    ...box,
    features: z.string().describe('input tensor [P, 3 * planeChannels]'),
    planeChannels: z.int().positive(),
    planeSize: z.int().positive().describe('the scene codes are [1, 3, planeChannels, planeSize, planeSize]'),
  }),
]);

export const ReconstructionManifest = z.strictObject({
  ...common,
  kind: z.literal('reconstruction'),
  input: ReconstructionInput,
  decoder: Decoder,
  elevation: z.string().optional().describe('output tensor [1]: how far above the object the camera is, in radians'),
  threshold: z.number().describe('the density at which the surface is cut; inside is above'),
  camera: z
    .strictObject({
      fovDegrees: z.number().positive().max(120),
      distance: z.number().positive().describe("from the camera to the middle of the box, in the box's units"),
    })
    .optional()
    .describe("absent: found for each photo from the object's outline; columns always need it"),
});
export type ReconstructionManifest = z.infer<typeof ReconstructionManifest>;
/** A decoder that is sampled inside a box. */
export type BoxDecoder = Exclude<ReconstructionManifest['decoder'], { kind: 'columns' }>;

export const MatteManifest = z.strictObject({
  ...common,
  kind: z.literal('matte'),
  input: ImageInput,
  output: z.string().describe('output tensor [1, 1, S, S]: coverage in 0..1'),
});
export type MatteManifest = z.infer<typeof MatteManifest>;

/** A manifest whose graphs need not be among its files yet. */
export const ManifestWithoutGraphs = z
  .discriminatedUnion('kind', [ReconstructionManifest, MatteManifest])
  .check(({ value, issues }) => {
    if (value.kind === 'reconstruction' && value.decoder.kind === 'columns' && !value.camera) {
      const message = 'is missing: columns stand in the view of a camera';
      issues.push({ code: 'custom', path: ['camera'], message, input: undefined });
    }
    if (value.kind === 'reconstruction' && value.decoder.kind !== 'columns') {
      const { up, front } = value.decoder;
      if (up[1] === front[1]) {
        const message = `cannot lie along the same axis as up (${up})`;
        issues.push({ code: 'custom', path: ['decoder', 'front'], message, input: front });
      }
    }
  });

export type ManifestWithoutGraphs = z.infer<typeof ManifestWithoutGraphs>;

/** `manifest.json`: all that the engine must know of a model to run it, and all that a person must know to be allowed to. */
export const Manifest = ManifestWithoutGraphs.check(({ value, issues }) => {
  const listed = new Set(value.files.map((file) => file.name));
  for (const { path, name } of graphsOf(value)) {
    if (!listed.has(name)) {
      issues.push({ code: 'custom', path: [...path], message: `"${name}" is not in files`, input: name });
    }
  }
});
export type Manifest = z.infer<typeof Manifest>;

/** The ONNX files of a bundle, with the field that names each. */
export function graphsOf(
  manifest: ManifestWithoutGraphs,
): Array<{ readonly path: readonly string[]; readonly name: string }> {
  const graphs = [{ path: ['graph'], name: manifest.graph }];
  if (manifest.kind === 'reconstruction' && manifest.decoder.kind !== 'columns') {
    graphs.push({ path: ['decoder', 'graph'], name: manifest.decoder.graph });
  }
  return graphs;
}

export type BundleKind = Manifest['kind'];
