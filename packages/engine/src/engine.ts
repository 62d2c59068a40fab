import { createRequire } from 'node:module';
import type { PhotoWarning, SamplerSettings } from '@gen3d/schema/rules';
import { BundleError, EngineError, MissingBundleError } from './base/errors.js';
import type { RgbaImage } from './base/image.js';
import { meshDefaults } from './base/mesh-defaults.js';
import { sharp } from './base/sharp.js';
import type { Provider } from './device/adapter.js';
import type { ChosenDevice } from './device/choose-device.js';
import {
  type EngineDevice,
  type EngineOptions,
  findBundles,
  findMatteBundle,
  openDevice,
} from './device/engine-device.js';
import type { EncodeOptions } from './field/decoder-kind.js';
import { colorsAt, type DensityField } from './field/density-field.js';
import { sampleGrid } from './field/sample-grid.js';
import { type PhotoView, writeGlb } from './gltf/write-glb.js';
import { decode } from './photo/decode.js';
import { frame } from './photo/frame.js';
import { type MattingNetwork, matte, openMattingNetwork } from './photo/matte.js';
import { photoWarnings } from './photo/photo-warnings.js';
import type { Window } from './photo/resample.js';
import { frontAndOthers, type OtherPhoto, type Photos, type SidePhoto } from './photo/side-photo.js';
import { inflateReconstructor, openReconstructor, type Reconstructor } from './reconstructor.js';
import { encodeThumbnail, renderThumbnail } from './render/render-view.js';
import { extractSurface } from './surface/extract-surface.js';
import { mirrorsOf } from './surface/mirror.js';
import { vertexNormals } from './surface/normals.js';
import { estimateElevation, pose } from './surface/pose.js';
import { bake } from './texture/bake.js';
import { bakeViews } from './texture/bake-views.js';
import { unwrap } from './texture/unwrap.js';
import { mapSize } from './views/map.js';
import { type FusedPhotos, fusePhotos, type SideCutout } from './views/several-photos.js';

/** GLBs name this version of @gen3d/engine as their generator. */
const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

// When the first ArrayBuffer of a thread is detached, V8 discards all optimized code that reads typed arrays. Without
// this, it would do so in the middle of the first photo, when meshoptimizer's memory grows.
const spare = new ArrayBuffer(1);
structuredClone(spare, { transfer: [spare] });

export interface GenerateOptions {
  /** Called with the increasing share of the work done, 0..1, and the stage that is running; none after the last. */
  readonly onProgress?: (fraction: number, running: Stage | undefined) => void;
  readonly signal?: AbortSignal;
  /**
   * Cells along the longest side of the model: 64 for a preview, 384 for the finest detail. Default: `meshDefaults`.
   */
  readonly resolution?: number | undefined;
  /** The maximum number of triangles, 10,000 or more. Simple shapes have fewer. Default: `meshDefaults`. */
  readonly maxTriangles?: number | undefined;
  /** Pixels a side of the base color texture. Default: `meshDefaults`. */
  readonly textureSize?: number | undefined;
  /** Only for bundles of the kind `steps`. Default: the bundle's own settings. */
  readonly sampler?: SamplerSettings | undefined;
}

export type Stage = 'matte' | 'frame' | 'encode' | 'field' | 'surface' | 'unwrap' | 'bake' | 'thumbnail' | 'write';

export interface GenerateStats {
  /** Name of the bundle that made the model. */
  readonly bundle: string;
  /** Wall-clock milliseconds of each stage. */
  readonly stageMs: Readonly<Record<Stage, number>>;
  readonly vertices: number;
  readonly triangles: number;
  readonly elevationRadians: number;
  /** What makes the model worse than it could be; see `warningMessages`. */
  readonly warnings: readonly PhotoWarning[];
  /**
   * Intersection over union of the photo's outline and the field's in the camera that was used, 0..1; undefined for
   * networks whose result has the photo's camera. Below 0.9, the outline was not carved.
   */
  readonly outlineOverlap: number | undefined;
  /** One for each given photo, the front first. */
  readonly views: readonly FoundView[];
}

/** Says whether a given photo was used, and from where it was taken. */
export interface FoundView {
  readonly side: SidePhoto['side'];
  /** Whether the model was made of it. */
  readonly used: boolean;
  /** The camera's azimuth in the model: 0 is the front, and about -π/2 the left. 0 if the photo was not used. */
  readonly yawRadians: number;
  /** The angle by which the camera looked down. 0 if the photo was not used. */
  readonly elevationRadians: number;
}

export interface Generated {
  /** A binary glTF 2.0 file: meters, Y up, the photographed side toward +Z, standing on y = 0. */
  readonly glb: Uint8Array;
  /** A JPEG of 512 x 512 pixels. */
  readonly thumbnail: Uint8Array;
  /** A WebP image of the same size and view, on a transparent background. */
  readonly transparentThumbnail: Uint8Array;
  readonly stats: GenerateStats;
}

/**
 * The approximate share of the work that is done after each stage on a CPU: for networks that run once, and for those
 * that take steps, each of which takes longer than everything else.
 */
const doneAfter: Record<Stage, readonly [once: number, inSteps: number]> = {
  matte: [0.5, 0.02],
  frame: [0.6, 0.03],
  encode: [0.65, 0.85],
  field: [0.7, 0.93],
  surface: [0.75, 0.95],
  unwrap: [0.78, 0.96],
  bake: [0.88, 0.98],
  thumbnail: [0.95, 0.99],
  write: [1, 1],
};

const stages = Object.keys(doneAfter) as Stage[];

/** Pixels a side of a cutout. */
const maxSize = 1024;

/**
 * Turns photos into models. Reuse an engine: its networks stay loaded between photos.
 *
 * @example
 * const engine = await Engine.open({ bundle: 'gen3d-base', matte: 'isnet', device: 'auto', modelDirs: ['models'] });
 * const { glb, thumbnail, stats } = await engine.generate(await readFile('mug.jpg'));
 * await writeFile('mug.glb', glb);
 * await engine.close();
 */
export class Engine {
  /** The device when the engine was opened, which is also the default name of the serving instance. */
  readonly device: Provider;
  /** How `device` was chosen: its adapter, and the devices that `auto` rejected and why. */
  readonly chosen: ChosenDevice;
  readonly #options: EngineOptions;
  readonly #device: EngineDevice;
  readonly #reconstructor: Reconstructor;
  #matting: Promise<MattingNetwork> | undefined;

  private constructor(options: EngineOptions, device: EngineDevice, reconstructor: Reconstructor) {
    this.device = device.chosen.provider;
    this.chosen = device.chosen;
    this.#options = options;
    this.#device = device;
    this.#reconstructor = reconstructor;
  }

  /**
   * Finds the bundles, chooses the device and loads the reconstruction network.
   *
   * @param device the device of the engine's pool. Default: a device that this thread opens
   * @throws {BundleError} if a bundle is missing, damaged or of another kind, or the named device cannot be used
   */
  static async open(options: EngineOptions, device?: EngineDevice): Promise<Engine> {
    const bundles = await findBundles(options);
    const opened = device ?? (await openDevice(bundles, options));
    const { reconstruction, guide } = bundles;
    const reconstructor = reconstruction
      ? await openReconstructor(reconstruction, opened.openSession, guide)
      : inflateReconstructor;
    return new Engine(options, opened, reconstructor);
  }

  /**
   * Makes a textured model of the object in a photo, or in up to four photos of different sides. A photo that does not
   * fit the one of the front is not used, and `stats.warnings` contains its side.
   *
   * @throws {EngineError} if the photo of the front cannot be used
   * @throws {TypeError} if not exactly one photo is of the front, or two are of the same side
   * @throws the signal's reason, once aborted; it is checked between stages, in a pool also while a network runs
   * @example
   * const { glb, stats } = await engine.generate(photo, { maxTriangles: 20_000, signal: AbortSignal.timeout(60_000) });
   * console.log(stats.triangles, stats.warnings);
   * @example
   * const back = await readFile('mug.back.jpg');
   * const { glb } = await engine.generate([{ photo, side: 'front' }, { photo: back, side: 'back' }]);
   */
  async generate(photos: Photos, options: GenerateOptions = {}): Promise<Generated> {
    const { front: photo, others } = frontAndOthers(photos);
    const { onProgress, signal } = options;
    const { now } = this.#device;
    const done = (name: Stage) => doneAfter[name][this.#reconstructor.inSteps ? 1 : 0];
    const stageMs = {} as Record<Stage, number>;
    const stage = async <T>(name: Stage, work: () => T | Promise<T>): Promise<T> => {
      signal?.throwIfAborted();
      const start = now();
      const result = await work();
      stageMs[name] = now() - start;
      onProgress?.(done(name), stages[stages.indexOf(name) + 1]);
      return result;
    };

    const { credits, foregroundRatio } = this.#reconstructor;
    const sampler = this.#samplerSettings(options.sampler);
    const decoded = photo instanceof Uint8Array ? await decode(photo) : photo;
    const found = await stage('matte', () => matte(decoded, (image) => this.#predictMatte(image)));
    const { cutout, sides } = await stage('frame', async () => ({
      cutout: frame(decoded.image, found.matte, { foregroundRatio, maxSize }),
      sides: await this.#cutOut(others, signal),
    }));
    const onEncoded = (share: number) =>
      onProgress?.(done('frame') + share * (done('encode') - done('frame')), 'encode');
    const { field, used } = await stage('encode', () =>
      this.#reconstruct({ cutout, photoWidth: decoded.image.width }, sides, { signal, sampler, onProgress: onEncoded }),
    );
    const warnings = [...photoWarnings(found, decoded.transparent), ...unusedWarnings(others, used)];
    const { maxTriangles, textureSize, resolution } = meshOptions(options, field, used.length);
    const grid = await stage('field', () => sampleGrid(field, resolution, signal));
    const closed = await stage('surface', () => extractSurface(field, grid, cutout, maxTriangles, signal));
    const normals = vertexNormals(closed);
    const mesh = await stage('unwrap', () => unwrap(closed, normals, field.camera, textureSize, used.length > 0));
    const elevationRadians = estimateElevation(closed.positions, field.elevation);
    const attitude = { elevation: elevationRadians, roll: field.rollRadians ?? 0 };
    const baseColor = await stage('bake', async () => {
      const decoderColors = await colorsAt(field, closed.positions);
      if (used.length > 0)
        return bakeViews(mesh, closed, normals, used.map(placedPhoto), { textureSize, decoderColors });
      const mirrors = mirrorsOf(closed, attitude);
      return bake(mesh, closed, normals, cutout, field.camera, {
        ...{ textureSize, decoderColors, mirrors },
        decoderRepeatsFront: field.colorsRepeatFront,
      });
    });
    const { model, toModel } = pose(mesh, attitude);
    const thumbnail = await stage('thumbnail', () => renderThumbnail(model, baseColor));
    const photoView = photoViewInModel(field, toModel, cutout.window, decoded.image);
    const extras = { generator: `gen3d ${version}`, bundles: credits, sampler, photo: photoView, warnings };
    // The images are encoded in threads of libvips, and the GLB is written here in the meantime.
    const write = async () => {
      const bytes = await encodeTexture(baseColor.data, textureSize);
      return writeGlb(model, { bytes, mimeType: 'image/jpeg' }, extras);
    };
    const [glb, { jpeg, webp }] = await stage('write', () => Promise.all([write(), encodeThumbnail(thumbnail)]));
    const stats = {
      ...{ bundle: credits[0].name, stageMs, elevationRadians, warnings },
      vertices: model.positions.length / 3,
      triangles: model.indices.length / 3,
      outlineOverlap: field.overlap,
      views: foundViews(others, used, elevationRadians),
    };
    return { glb, thumbnail: jpeg, transparentThumbnail: webp, stats };
  }

  /** Cuts the object out of photos of other sides than the front. Leaves out those in which there is none. */
  async #cutOut(others: readonly OtherPhoto[], signal: AbortSignal | undefined): Promise<SideCutout[]> {
    const { foregroundRatio, predict } = this.#reconstructor;
    const cutouts: SideCutout[] = [];
    for (const { photo, side } of predict ? others : []) {
      signal?.throwIfAborted();
      const { image, transparent } = photo instanceof Uint8Array ? await decode(photo) : photo;
      try {
        const found = await matte({ image, transparent }, (part) => this.#predictMatte(part));
        const cutout = frame(image, found.matte, { foregroundRatio, maxSize });
        cutouts.push({ side, cutout, photoWidth: image.width });
      } catch (error) {
        if (!(error instanceof EngineError && error.code === 'no_foreground')) throw error;
      }
    }
    return cutouts;
  }

  async #reconstruct(
    front: Omit<SideCutout, 'side'>,
    sides: readonly SideCutout[],
    options: EncodeOptions,
  ): Promise<FusedPhotos> {
    const { predict } = this.#reconstructor;
    if (predict && sides.length > 0) {
      return fusePhotos(predict, [{ ...front, side: 'front' }, ...sides], options.signal);
    }
    return { field: await this.#reconstructor.reconstruct(front.cutout, options), used: [] };
  }

  #samplerSettings(given: SamplerSettings | undefined) {
    const { credits, sampler: defaults } = this.#reconstructor;
    if (given && !defaults) {
      throw new EngineError(
        'inference_failed',
        `The network ${credits[0].name} makes a model in one step, so it has no seed and no number of steps. Send the photo without them.`,
      );
    }
    return defaults && { ...defaults, ...given };
  }

  /** Releases the networks. */
  async close(): Promise<void> {
    await this.#reconstructor.release();
    await (await this.#matting)?.release();
  }

  async #predictMatte(image: Parameters<MattingNetwork['predict']>[0]) {
    this.#matting ??= findMatteBundle(this.#options).then((bundle) =>
      openMattingNetwork(bundle, this.#device.openSession),
    );
    const network = await this.#matting.catch((error: unknown) => {
      // Try again for the next photo: the bundle may be repaired by then.
      this.#matting = undefined;
      if (!(error instanceof BundleError)) throw error;
      // The message about a damaged bundle contains a path on the server.
      const hint = error instanceof MissingBundleError ? ` ${error.message}.` : '';
      throw new EngineError(
        'inference_failed',
        `This image has a background, and no usable background remover is installed. Send an image with a transparent background, or ask the operator to install it and to restart the server.${hint}`,
        { cause: error },
      );
    });
    return network.predict(image);
  }
}

/** @param pixels four bytes per pixel, of which the last is ignored */
const encodeTexture = (pixels: Uint8Array, side: number): Promise<Buffer> =>
  sharp(pixels, { raw: { width: side, height: side, channels: 4 } })
    .removeAlpha()
    .jpeg({ quality: 90 })
    .toBuffer();

function unusedWarnings(others: readonly OtherPhoto[], used: FusedPhotos['used']): PhotoWarning[] {
  const unused = others.filter(({ side }) => !used.some((photo) => photo.side === side));
  return unused.map(({ side }) => `photo_not_used_${side}` as const);
}

function foundViews(others: readonly OtherPhoto[], used: FusedPhotos['used'], elevationRadians: number): FoundView[] {
  const front = { side: 'front', used: true, yawRadians: 0, elevationRadians } as const;
  const found = others.map(({ side }): FoundView => {
    const photo = used.find((one) => one.side === side);
    return photo
      ? { side, used: true, yawRadians: photo.yawRadians, elevationRadians: photo.elevationRadians }
      : { side, used: false, yawRadians: 0, elevationRadians: 0 };
  });
  return [front, ...found];
}

const placedPhoto = ({ view, camera }: FusedPhotos['used'][number]) => ({
  ...{ image: view.cutout.image, camera, outline: view.outline, outlineSize: mapSize },
});

function meshOptions(options: GenerateOptions, field: DensityField, photos: number) {
  const { stepped, smooth } = meshDefaults.resolution;
  const usualTexture = photos > 0 ? meshDefaults.textureSizeOfSeveral : meshDefaults.textureSize;
  const { maxTriangles = meshDefaults.maxTriangles, textureSize = usualTexture } = options;
  return { maxTriangles, textureSize, resolution: options.resolution ?? (field.projects ? smooth : stepped) };
}

function photoViewInModel(
  { camera: { distance, halfTangent }, rollRadians }: DensityField,
  toModel: (points: Float32Array) => Float32Array,
  { left, top, side }: Window,
  { width, height }: RgbaImage,
): PhotoView {
  const [x, y, z, ...target] = toModel(Float32Array.of(0, 0, distance, 0, 0, 0));
  return {
    cameraPosition: [x!, y!, z!],
    cameraTarget: target,
    ...(rollRadians && { rollRadians }),
    fieldOfView: 2 * Math.atan(halfTangent),
    frame: { left: left / width, top: top / height, width: side / width, height: side / height },
  };
}
