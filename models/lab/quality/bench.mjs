// The quality of the models: reconstructs each photo of a set and compares the model with the object that it shows.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Engine, loadBundle } from '../../../packages/engine/dist/index.js';
import { average, row } from '../../../scripts/bench/figures.mjs';
import { readGlb } from '../../../scripts/images/contact-sheet.mjs';
import { Failed } from '../../../scripts/processes.mjs';
import { requireFrom, root } from '../../../scripts/repository.mjs';
import { compare, tolerances } from './compare.mjs';
import { countParts, countRegions } from './parts.mjs';
import { readSet, sides } from './read-set.mjs';
import { sampleSurface } from './sample-surface.mjs';
import { cameraErrors, printSides } from './side-figures.mjs';
import { silhouetteIou } from './silhouette.mjs';
import { sphereModel } from './sphere.mjs';
import { isWatertight } from './watertight.mjs';

/** @type {typeof import('sharp').default} */
const sharp = requireFrom('engine')('sharp');

const models = join(root, 'models');
/** @type {Record<string, string>} */
const sets = { benchmark: 'models/lab/sets/benchmark', validation: 'models/lab/sets/validation' };
const samples = 16384;

/** The share of the frame that `inflate` and the sphere put the object into. */
const defaultRatio = 0.86;

/** All other rows are compared with this bundle. */
const baseline = 'inflate';

/** @typedef {import('./read-set.mjs').QualityObject} QualityObject */
/** @typedef {import('./sample-surface.mjs').TexturedTriangles} TexturedTriangles */
/** @typedef {import('./sample-surface.mjs').RgbaImage} RgbaImage */
/** @typedef {import('./silhouette.mjs').Lens & import('./silhouette.mjs').Attitude} PhotoCamera */
/** @typedef {import('./side-figures.mjs').FoundView} FoundView */
/** @typedef {{ mesh: TexturedTriangles, baseColor: RgbaImage, camera: PhotoCamera, views: readonly FoundView[] | undefined }} Model */
/** @typedef {{ photo: string, side: import('./read-set.mjs').Side }} Input */
/**
 * @typedef {object} Reconstructor
 * @property {(photos: readonly [Input, ...Input[]]) => Promise<Model>} reconstruct
 * @property {() => Promise<void>} [close]
 */
/** @typedef {import('./compare.mjs').Comparison} Comparison */
/** @typedef {import('./side-figures.mjs').CameraError} CameraError */
/**
 * `parts` are of the model, and `regions` of the first photo's outline.
 *
 * @typedef {Comparison & {
 *   iou: number, watertight: boolean, parts: number, regions: number, seconds?: number, failed?: string,
 *   cameras?: CameraError[],
 * }} Figures
 */
/** @typedef {Figures & { bundle: string, object: string, view: number | string }} Kept */
/** @typedef {Kept & { kind: string, seen: boolean }} Result */
/**
 * What a model is made from. `shown` is the bit of the object's points that the photo shows, if they are marked.
 *
 * @typedef {{ view: number | string, photos: readonly [Input, ...Input[]], shown: number }} Case
 */
/** @typedef {'chamfer' | 'chamferSeen' | 'chamferUnseen' | 'colorSeen' | 'colorUnseen' | 'iou'} FigureName */

/**
 *   node models/lab/bench.mjs quality                               all bundles in models/, on the benchmark set
 *   node models/lab/bench.mjs quality --set validation --bundle gen3d-base --limit 10
 *   node models/lab/bench.mjs quality --json FILE                   keeps the figures in a file and measures only the missing ones
 *   node models/lab/bench.mjs quality --photos 4 --photos 2         models of several photos, beside those of the front alone
 *
 * Prints the tables of docs/quality.md and, with --photos, that of docs/photos.md.
 */
export async function benchQuality() {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: {
      set: { type: 'string', default: 'benchmark' },
      bundle: { type: 'string', multiple: true },
      limit: { type: 'string' },
      json: { type: 'string' },
      photos: { type: 'string', multiple: true },
    },
  });
  const counts = values.photos && photoCounts(values.photos);
  const set = readSet(sets[values.set] ? join(root, sets[values.set]) : resolve(values.set));
  const objects = spread(counts ? set.filter((object) => object.sides) : set, values.limit);
  const names = counts
    ? (values.bundle ?? ['gen3d-base'])
    : values.bundle
      ? [...new Set([baseline, ...values.bundle])]
      : [baseline, 'sphere', ...installedBundles()];
  /** @type {Kept[]} */
  const kept = values.json && existsSync(values.json) ? JSON.parse(readFileSync(values.json, 'utf8')) : [];
  /** @type {Result[]} */
  const results = [];
  for (const name of names) {
    const reconstructor = name === 'sphere' ? sphere : await openBundle(name);
    for (const [index, object] of objects.entries()) {
      const truth = object.truth();
      for (const input of counts ? sideCases(object, counts) : singleCases(object)) {
        const { view } = input;
        const known = kept.find(
          (figures) => figures.bundle === name && figures.object === object.id && figures.view === view,
        );
        const figures = known ?? {
          ...{ bundle: name, object: object.id, view },
          ...(await measure(reconstructor, object, input, truth)),
        };
        results.push({ ...figures, kind: object.kind, seen: object.seen });
        if (known || !values.json) continue;
        kept.push(figures);
        writeFileSync(values.json, `[\n${kept.map((line) => JSON.stringify(line)).join(',\n')}\n]\n`);
      }
      process.stderr.write(`\r${name}: ${index + 1} of ${objects.length} objects `);
    }
    process.stderr.write('\n');
    await reconstructor.close?.();
  }
  if (counts) for (const name of names) printSides(ofBundle(results, name), name);
  else print(names, objects, results);
}

/**
 * @param {readonly string[]} given
 * @returns the numbers of photos to compare, from one up
 */
function photoCounts(given) {
  const counts = new Set([1, ...given.map(Number)]);
  for (const count of counts) {
    if (!sides[count - 1]) throw new Failed(`--photos must be a number from 1 to ${sides.length}, not ${given}`);
  }
  return [...counts].sort();
}

/** @type {(object: QualityObject) => Case[]} */
const singleCases = ({ photos }) =>
  photos.map((photo, index) => ({ view: index + 1, photos: [{ photo, side: 'front' }], shown: 1 << index }));

/** @type {(object: QualityObject, counts: readonly number[]) => Case[]} */
const sideCases = (object, counts) =>
  counts.map((count) => {
    const [front, ...others] = sides.slice(0, count).map((side) => ({ side, photo: photoOf(object, side) }));
    return { view: [front, ...others].map(({ side }) => side).join('+'), photos: [front, ...others], shown: 0 };
  });

/** @type {(object: QualityObject, side: import('./read-set.mjs').Side) => string} */
function photoOf({ id, sides: photos }, side) {
  if (!photos) throw new Failed(`${id} has no photos of its sides`);
  return photos[side].photo;
}

/**
 * Takes `limit` objects at even steps, which keeps many kinds.
 *
 * @param {QualityObject[]} objects
 * @param {string | undefined} limit
 */
function spread(objects, limit) {
  const count = limit === undefined ? objects.length : Number(limit);
  if (!(count >= 1)) throw new Failed(`--limit must be a number of objects, not ${limit}`);
  if (objects.length <= count) return objects;
  return Array.from({ length: count }, (_, i) => objects[Math.floor((i * objects.length) / count)]);
}

/** The names of the reconstruction bundles in models/. */
function installedBundles() {
  const manifests = readdirSync(models).flatMap((name) => {
    try {
      return [JSON.parse(readFileSync(join(models, name, 'manifest.json'), 'utf8'))];
    } catch {
      return [];
    }
  });
  return manifests.filter(({ kind }) => kind === 'reconstruction').map(({ name }) => String(name));
}

/**
 * The minimum that any bundle has to beat: a sphere in the mean color of the photo.
 *
 * @type {Reconstructor}
 */
const sphere = {
  reconstruct: async ([{ photo }]) => ({
    ...sphereModel(await readPixels(photo)),
    camera: { elevationRadians: 0, rollRadians: 0, halfTangent: 0.18, foregroundRatio: defaultRatio },
    views: undefined,
  }),
};

/**
 * @param {string} name
 * @returns {Promise<Reconstructor>}
 */
async function openBundle(name) {
  const engine = await Engine.open({ bundle: name, matte: 'isnet', device: 'auto', modelDirs: [models] });
  const foregroundRatio = name === baseline ? defaultRatio : foregroundRatioOf(await loadBundle(join(models, name)));
  return {
    async reconstruct(inputs) {
      const photos = inputs.map(({ photo, side }) => ({ photo: readFileSync(photo), side }));
      const { glb, stats } = await engine.generate(photos);
      const { elevationRadians, views } = stats;
      return {
        ...(await readGlb(glb)),
        camera: { elevationRadians, foregroundRatio, ...photoCameraOf(glb) },
        views,
      };
    },
    close: () => engine.close(),
  };
}

/** @param {{ manifest: import('../../../packages/engine/dist/index.js').Manifest }} bundle */
function foregroundRatioOf({ manifest }) {
  if (manifest.kind !== 'reconstruction') throw new Failed(`${manifest.name} is not a reconstruction bundle`);
  return manifest.input.foregroundRatio;
}

/**
 * The lens that the model was made with, which the engine may have found, and the roll of the photo.
 *
 * @param {Uint8Array} glb
 */
function photoCameraOf(glb) {
  const bytes = Buffer.from(glb.buffer, glb.byteOffset, glb.byteLength);
  const { asset } = JSON.parse(bytes.toString('utf8', 20, 20 + bytes.readUInt32LE(12)));
  const { fieldOfView, rollRadians = 0 } = asset.extras.photo;
  return { halfTangent: Math.tan(fieldOfView / 2), rollRadians };
}

/**
 * @param {Reconstructor} reconstructor
 * @param {QualityObject} object
 * @param {Case} input
 * @param {import('./read-set.mjs').Surface} truth
 * @returns {Promise<Figures>}
 */
async function measure({ reconstruct }, object, { photos, shown }, truth) {
  const pixels = await readPixels(photos[0].photo);
  const regions = countRegions(pixels);
  const startedAt = performance.now();
  let model;
  try {
    model = await reconstruct(photos);
  } catch (error) {
    const failed = error instanceof Error ? error.message : String(error);
    return { failed, ...compare(dust, truth, shown), iou: 0, watertight: false, parts: 0, regions };
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const { mesh, baseColor, camera, views } = model;
  return {
    seconds,
    ...compare(sampleSurface(mesh, baseColor, samples), truth, shown),
    iou: silhouetteIou(mesh, pixels, camera),
    watertight: isWatertight(mesh),
    parts: countParts(mesh),
    regions,
    ...(photos.length > 1 && object.sides && { cameras: cameraErrors(views ?? [], object.sides) }),
  };
}

/** Two points close together, which stand for the model of a photo that failed. */
const dust = { positions: new Float32Array([0, 0, 0, 1e-3, 0, 0]), colors: new Uint8Array(6).fill(128) };

/** @param {string} photo */
async function readPixels(photo) {
  const { data, info } = await sharp(photo).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, data };
}

/**
 * @param {readonly string[]} names
 * @param {readonly QualityObject[]} objects
 * @param {readonly Result[]} results
 */
function print(names, objects, results) {
  const kinds = [...new Set(objects.map(({ kind }) => kind))];
  const photoCount = results.length / names.length;
  console.log(`${objects.length} objects of ${kinds.length} kinds, ${photoCount} photos.\n`);
  row(
    ...['', 'Chamfer', `of ${baseline}'s`, ...tolerances.map((tolerance) => `F@${tolerance}`), 'silhouette'],
    ...['Chamfer seen', 'unseen', 'color seen', 'unseen', 'closed', 'one part', 'failed', 'seconds'],
  );
  row('---', ...Array(11 + tolerances.length).fill('--:'));
  const reference = mean(ofBundle(results, baseline), 'chamfer');
  for (const name of names) {
    const own = ofBundle(results, name);
    const whole = own.filter(({ regions }) => regions === 1);
    row(
      name,
      mean(own, 'chamfer').toFixed(4),
      (mean(own, 'chamfer') / reference).toFixed(2),
      ...tolerances.map((_, i) => average(own.map(({ fScores }) => fScores[i])).toFixed(3)),
      mean(own, 'iou').toFixed(3),
      mean(own, 'chamferSeen').toFixed(3),
      mean(own, 'chamferUnseen').toFixed(3),
      mean(own, 'colorSeen').toFixed(3),
      mean(own, 'colorUnseen').toFixed(3),
      `${own.filter(({ watertight }) => watertight).length} of ${own.length}`,
      `${whole.filter(({ parts }) => parts === 1).length} of ${whole.length}`,
      own.filter(({ failed }) => failed).length,
      average(own.flatMap(({ seconds }) => seconds ?? [])).toFixed(1),
    );
  }
  console.log('\nBy kind: Chamfer / F@0.05\n');
  row('', 'photos', ...names);
  row('---', '--:', ...names.map(() => '--:'));
  /** @type {(title: string, isIncluded: (result: Result) => boolean) => void} */
  const group = (title, isIncluded) => {
    const included = results.filter(isIncluded);
    const cells = names.map((name) => {
      const own = ofBundle(included, name);
      return `${mean(own, 'chamfer').toFixed(3)} / ${average(own.map(({ fScores }) => fScores[0])).toFixed(2)}`;
    });
    row(title, included.length / names.length, ...cells);
  };
  for (const kind of kinds) group(kind, (result) => result.kind === kind);
  if (objects.some(({ seen }) => seen)) group('**kinds that training makes**', ({ seen }) => seen);
  if (objects.some(({ seen }) => !seen)) group('**other kinds**', ({ seen }) => !seen);
}

/** @type {(results: readonly Result[], name: string) => readonly Result[]} */
const ofBundle = (results, name) => results.filter(({ bundle }) => bundle === name);

/** @type {(results: readonly Result[], name: FigureName) => number} */
const mean = (results, name) => average(results.map((result) => result[name]));
