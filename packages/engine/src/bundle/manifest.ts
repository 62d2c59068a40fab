import { oneLine } from '@gen3d/schema/rules';
import { z } from 'zod';

/** A bundle's name is also the name of its folder, so it cannot be a path. */
export const BundleName = z
  .string()
  .regex(/^[a-z0-9]+([.-][a-z0-9]+)*$/, 'lowercase letters and digits, joined by dots or dashes');

// A manifest from another source must not refer to files outside its folder.
export const FileName = z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/, 'a plain file name inside the bundle folder');

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, '64 lowercase hexadecimal digits');

const File = z.strictObject({ name: FileName, size: z.int().positive().describe('bytes'), sha256: Sha256 });
export type BundleFile = z.infer<typeof File>;

// A manifest may come from any URL, and terminals show these texts.
const Line = z
  .string()
  .min(1)
  .refine((text) => oneLine(text) === text, 'must be one line without control characters');

const Terms = z.strictObject({
  license: Line.describe('an SPDX identifier, or a sentence where no identifier fits'),
  source: Line.describe('a URL, or a folder of this repository'),
});

/** Says how a bundle was made from a published checkpoint. */
const Origin = z.object({
  checkpoint: File,
  furtherCheckpoints: z.array(File).optional().describe('if each network has its own, in the order of the catalog'),
  precision: z.enum(['fp32', 'fp16']),
  skeleton: Sha256.describe('of the graphs without the offsets of the weights'),
});
export type Origin = z.infer<typeof Origin>;
export type Precision = Origin['precision'];

const PerChannel = z.tuple([z.number(), z.number(), z.number()]);

const identity = {
  formatVersion: z.literal(1),
  name: BundleName,
  title: Line,
  description: Line,
  /** Each part has its own terms. Users need all three before they use results commercially. */
  license: z.strictObject({ code: Terms, weights: Terms, trainingData: Terms }),
};

const common = {
  ...identity,
  graph: FileName.describe('the ONNX graph whose input is the photo'),
  files: z.array(File).min(1).describe('every file of the bundle except manifest.json and texts for people'),
  origin: Origin.optional(),
};

const side = z.int().min(16).max(4096);

const ImageInput = z.strictObject({
  tensor: z.string(),
  size: side.describe('S of float32 [1, channels, S, S]'),
  // Applies to bytes, as publishers state it: value = (byte - mean) / std.
  mean: PerChannel,
  std: PerChannel.refine((std) => std.every((value) => value > 0), 'must be above 0'),
});

const ReconstructionInput = ImageInput.extend({
  channels: z.union([z.literal(3), z.literal(4)]).describe('RGB, or RGB and the matte in 0..1'),
  background: z.number().min(0).max(1).describe('the gray behind the cutout, sRGB in 0..1'),
  foregroundRatio: z.number().min(0.1).max(1).describe("longer side of the object's box / side of the frame"),
});

const Axis = z.enum(['+x', '-x', '+y', '-y', '+z', '-z']);

const placement = {
  halfExtent: z.number().positive().describe('the box is ±halfExtent along each axis'),
  up: Axis,
  front: Axis.describe('toward the camera: the direction that the visible side faces'),
};

/** A decoder is sampled inside this box, except a `columns` decoder, which covers the camera's frustum. */
const box = {
  sceneCodes: z.string().describe("the encoder's output tensor"),
  graph: FileName.describe('the ONNX graph of the decoder'),
  density: z.string().describe('output tensor [1, P, 1] of points, [P, 1] of planes'),
  color: z.string().optional().describe('output tensor [1, P, 3] of points, [P, 3] of planes: sRGB in 0..1'),
  ...placement,
};

const Decoder = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('columns'),
    frontDepth: z.string().describe('output tensor [1, C, C]: depth of the front surface, -1 near .. 1 far'),
    occupancy: z.string().describe('output tensor [1, steps, C, C]: logits at 0..steps-1 steps behind the front'),
    color: z.string().optional().describe('output tensor [1, 3, C, C], sRGB in 0..1: the side away from the camera'),
    size: z.int().min(2).optional().describe('C: columns a side, if it differs from the side of the image'),
    steps: z.int().min(2),
    // Networks are trained on photos cropped to the object, so the crop's field of view is less than the camera's:
    // 2 * atan(halfWidth / camera.distance).
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
  // A rectified flow over a set of latent tokens [1, tokens, channels], whose result is decoded at points.
  z.strictObject({
    kind: z.literal('steps'),
    imageTokens: z.string().describe("the encoder's output tensor [1, I, K], and an input of the step graph"),
    step: z.strictObject({
      graph: FileName.describe('the ONNX graph of one step of the sampler, including guidance'),
      latents: z.string().describe('input tensor [1, tokens, channels]'),
      timestep: z.string().describe('input tensor [1]: timestepScale times sigma'),
      stepSize: z.string().describe('input tensor [1]: sigma of this step minus sigma of the next one'),
      guidance: z.string().describe('input tensor [1]'),
      nextLatents: z.string().describe('output tensor [1, tokens, channels]'),
    }),
    tokens: z.int().positive(),
    channels: z.int().positive(),
    sampler: z.strictObject({
      steps: z.int().min(1).max(1000),
      guidance: z.number().describe('weight of the photo against all-zero image tokens; 1 is none'),
      timestepScale: z.number().positive(),
      shift: z.number().positive().default(1).describe('above 1: more of the steps at high noise'),
      seed: z.int().min(0).max(0xffffffff).default(0),
    }),
    latentsGraph: z.strictObject({
      graph: FileName.describe('the ONNX graph that runs once per photo, from latents to scene codes'),
      latents: z.string().describe('input tensor [1, tokens, channels]'),
    }),
    sceneCodes: z.string().describe('output tensor of the latents graph, and an input of the points graph'),
    graph: FileName.describe('the ONNX graph that computes densities at points'),
    points: z.string().describe('input tensor [1, P, 3]'),
    pointsPerCall: z.int().positive().default(8192).describe('P, if the graph leaves it open'),
    density: z.string().describe('output tensor [1, P, 1]'),
    inside: z
      .enum(['above', 'below'])
      .optional()
      .describe('side of the threshold; absent: the side opposite to most samples of the faces of the box'),
    flops: z
      .strictObject({ step: z.number().positive(), point: z.number().positive() })
      .describe('operations of one run of the step graph and of one point, to estimate times'),
    ...placement,
  }),
]);

export const ReconstructionManifest = z.strictObject({
  ...common,
  kind: z.literal('reconstruction'),
  input: ReconstructionInput,
  decoder: Decoder,
  elevation: z.string().optional().describe("output tensor [1]: the camera's angle above the object, in radians"),
  threshold: z.number().describe('the density at the surface; inside is above'),
  camera: z
    .strictObject({
      fovDegrees: z.number().positive().max(120),
      distance: z.number().positive().describe("from the camera to the middle of the box, in the box's units"),
    })
    .optional()
    .describe("absent: estimated for each photo from the object's outline; required for columns"),
  upright: z
    .boolean()
    .optional()
    .describe('whether objects stand upright in the box, however the photo was taken; absent: only without a camera'),
});
export type ReconstructionManifest = z.infer<typeof ReconstructionManifest>;
/** A decoder that is sampled inside a box. */
export type BoxDecoder = Exclude<ReconstructionManifest['decoder'], { kind: 'columns' }>;
export type StepsDecoder = Extract<BoxDecoder, { kind: 'steps' }>;

const MatteInput = ImageInput.extend({
  quick: z
    .strictObject({
      locate: side.describe('S of a first pass over the whole photo'),
      closeUp: side.describe('S of the refinement pass, over the part that shows the object'),
    })
    .optional()
    .describe('smaller values of S that the graph also accepts; `size` is then only for photos that remain uncertain'),
});

export const MatteManifest = z.strictObject({
  ...common,
  kind: z.literal('matte'),
  input: MatteInput,
  output: z.string().describe('output tensor [1, 1, S, S]: coverage in 0..1'),
  floatGraph: FileName.optional().describe(
    'the same network in floating point, for devices other than the CPU; absent: they run `graph` too',
  ),
});
export type MatteManifest = z.infer<typeof MatteManifest>;

/** A manifest whose graphs need not be among its files yet. */
export const ManifestWithoutGraphs = z
  .discriminatedUnion('kind', [ReconstructionManifest, MatteManifest])
  .check(({ value, issues }) => {
    if (value.kind === 'reconstruction' && value.decoder.kind === 'columns' && !value.camera) {
      const message = 'is missing, which columns need';
      issues.push({ code: 'custom', path: ['camera'], message, input: undefined });
    }
    if (value.kind === 'reconstruction' && value.decoder.kind !== 'columns') {
      const { up, front } = value.decoder;
      if (up[1] === front[1]) {
        const message = `cannot be on the same axis as up (${up})`;
        issues.push({ code: 'custom', path: ['decoder', 'front'], message, input: front });
      }
    }
  });

export type ManifestWithoutGraphs = z.infer<typeof ManifestWithoutGraphs>;

const OptionValue = z.union([z.string().max(256), z.number(), z.boolean()]);

/** A model server that the operator runs. It takes the whole photo and returns a GLB, so there is nothing to load here. */
export const HttpManifest = z
  .strictObject({
    ...identity,
    kind: z.literal('http'),
    url: z.url({ protocol: /^https?$/ }).describe('the whole address to which photos are sent'),
    body: z
      .enum(['json', 'image', 'form'])
      .default('json')
      .describe('how a photo is sent: in a field of a JSON object, as the body, or as a file of a form'),
    model: Line.optional().describe('the name of the model, as the server knows it'),
    options: z
      .record(z.string().regex(/^\w{1,64}$/), z.union([OptionValue, z.record(z.string(), OptionValue)]))
      .default({})
      .describe('fields that the server gets with each photo; jobs can change those that are not objects'),
    keyVariable: z
      .string()
      .regex(
        /^MODEL_SERVER_[A-Z0-9_]+$/,
        'must begin with MODEL_SERVER_, such as MODEL_SERVER_KEY, because its value is sent to the url',
      )
      .optional()
      .describe('the environment variable that has the API key of the server'),
    concurrency: z.int().min(1).max(32).default(1).describe('how many photos each runner sends at the same time'),
    files: z.array(File).max(0).default([]),
    origin: z.undefined().optional(),
  })
  .check(({ value, issues }) => {
    if (value.body === 'json') return;
    for (const [name, option] of Object.entries(value.options)) {
      if (typeof option !== 'object') continue;
      const message = `is an object, which only the body "json" can send`;
      issues.push({ code: 'custom', path: ['options', name], message, input: option });
    }
  });
export type HttpManifest = z.infer<typeof HttpManifest>;

const GraphManifest = ManifestWithoutGraphs.check(({ value, issues }) => {
  const listed = new Set(value.files.map((file) => file.name));
  for (const { path, name } of graphsOf(value)) {
    if (!listed.has(name)) {
      issues.push({ code: 'custom', path: [...path], message: `"${name}" is not in files`, input: name });
    }
  }
});

/** Describes `manifest.json`, which contains all that the engine needs to run a bundle, and the terms of its use. */
export const Manifest = z.discriminatedUnion('kind', [GraphManifest, HttpManifest]);
export type Manifest = z.infer<typeof Manifest>;

/** Lists the ONNX files of a bundle, each with the path of its field in the manifest. */
export function graphsOf(
  manifest: ManifestWithoutGraphs,
): Array<{ readonly path: readonly string[]; readonly name: string }> {
  const graphs = [{ path: ['graph'], name: manifest.graph }];
  if (manifest.kind === 'matte' && manifest.floatGraph !== undefined) {
    graphs.push({ path: ['floatGraph'], name: manifest.floatGraph });
  }
  if (manifest.kind === 'reconstruction' && manifest.decoder.kind !== 'columns') {
    const { decoder } = manifest;
    graphs.push({ path: ['decoder', 'graph'], name: decoder.graph });
    if (decoder.kind === 'steps') {
      graphs.push({ path: ['decoder', 'step', 'graph'], name: decoder.step.graph });
      graphs.push({ path: ['decoder', 'latentsGraph', 'graph'], name: decoder.latentsGraph.graph });
    }
  }
  return graphs;
}

export type BundleKind = Manifest['kind'];
