// How good the models are: every photo of a set through the engine, compared with the object it shows.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { Failed } from '../processes.mjs';
import { compare, tolerances } from '../quality/compare.mjs';
import { readSet } from '../quality/read-set.mjs';
import { sampleSurface } from '../quality/sample-surface.mjs';
import { silhouetteIou } from '../quality/silhouette.mjs';
import { ballModel } from '../quality/sphere.mjs';
import { isWatertight } from '../quality/watertight.mjs';
import { requireFrom, root } from '../repository.mjs';
import { row } from './figures.mjs';

const models = join(root, 'models');
const sharp = requireFrom('engine')('sharp');
const { Engine, loadBundle, readGlb } = await import(pathToFileURL(join(root, 'packages/engine/dist/index.js')).href);

const sets = { benchmark: 'benchmarks/quality', validation: 'models/training/validation' };
const samples = 16384;

/** What every other row is compared with. */
const baseline = 'inflate';

/** `json` names a file that keeps the figures; those it has already are not measured again. */
const options = {
  set: { type: 'string', default: 'benchmark' },
  bundle: { type: 'string', multiple: true },
  limit: { type: 'string' },
  json: { type: 'string' },
};

/** Prints the tables of docs/quality.md. */
export async function benchQuality() {
  const { values } = parseArgs({ args: process.argv.slice(3), options });
  const objects = spread(readSet(sets[values.set] ? join(root, sets[values.set]) : resolve(values.set)), values.limit);
  const names = values.bundle
    ? [...new Set([baseline, ...values.bundle])]
    : [baseline, 'sphere', ...installedBundles()];
  const kept = values.json && existsSync(values.json) ? JSON.parse(readFileSync(values.json, 'utf8')) : [];
  const results = [];
  for (const name of names) {
    const reconstructor = name === 'sphere' ? sphere : await openBundle(name);
    for (const [index, object] of objects.entries()) {
      const truth = object.truth();
      for (const view of object.photos.keys()) {
        const which = { bundle: name, object: object.id, view: view + 1 };
        const known = kept.find((figures) => Object.keys(which).every((key) => figures[key] === which[key]));
        const figures = known ?? { ...which, ...(await measure(reconstructor, object, view, truth)) };
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
  print(names, objects, results);
}

/** Every so many of the objects, so that a few still are of many kinds. */
function spread(objects, limit) {
  const wanted = limit === undefined ? objects.length : Number(limit);
  if (!(wanted >= 1)) throw new Failed(`--limit takes a number of objects, not ${limit}.`);
  if (objects.length <= wanted) return objects;
  return Array.from({ length: wanted }, (_, i) => objects[Math.floor((i * objects.length) / wanted)]);
}

/** The reconstruction bundles in models/. */
function installedBundles() {
  const manifests = readdirSync(models).flatMap((name) => {
    try {
      return [JSON.parse(readFileSync(join(models, name, 'manifest.json'), 'utf8'))];
    } catch {
      return [];
    }
  });
  return manifests.filter(({ kind }) => kind === 'reconstruction').map(({ name }) => name);
}

/** The floor below every floor: a ball, in the mean colour of the photo. */
const sphere = {
  lens: { halfTangent: 0.18, foregroundRatio: 0.86 },
  reconstruct: async (photo) => ({ ...ballModel(await pixels(photo)), elevationRadians: 0 }),
};

async function openBundle(name) {
  const engine = await Engine.open({ bundle: name, matte: 'isnet', device: 'auto', modelDirs: [models] });
  return {
    lens: name === baseline ? sphere.lens : lensOf((await loadBundle(join(models, name))).manifest),
    async reconstruct(photo) {
      const { glb, stats } = await engine.generate(readFileSync(photo));
      return { ...(await readGlb(glb)), elevationRadians: stats.elevationRadians };
    },
    close: () => engine.close(),
  };
}

/** The frame the bundle's field lives in; `columns` says how wide it is, others how far the lens opens. */
function lensOf({ decoder, camera, input }) {
  const halfTangent =
    decoder.kind === 'columns' ? decoder.halfWidth / camera.distance : Math.tan((camera.fovDegrees * Math.PI) / 360);
  return { halfTangent, foregroundRatio: input.foregroundRatio };
}

async function measure({ reconstruct, lens }, object, view, truth) {
  const photo = object.photos[view];
  const startedAt = performance.now();
  let model;
  try {
    model = await reconstruct(photo);
  } catch (error) {
    return { failed: error.message, ...compare(nothing, truth, view + 1), iou: 0, watertight: false };
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const { mesh, baseColor, elevationRadians } = model;
  return {
    seconds,
    ...compare(sampleSurface(mesh, baseColor, samples), truth, view + 1),
    iou: silhouetteIou(mesh, await pixels(photo), { ...lens, elevationRadians }),
    watertight: isWatertight(mesh),
  };
}

/** A photo without a model counts as a grain of dust. */
const nothing = { positions: new Float32Array([0, 0, 0, 1e-3, 0, 0]), colors: new Uint8Array(6).fill(128) };

async function pixels(photo) {
  const { data, info } = await sharp(photo).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, data };
}

function print(names, objects, results) {
  const kinds = [...new Set(objects.map(({ kind }) => kind))];
  const views = results.length / names.length;
  console.log(`${objects.length} objects of ${kinds.length} kinds, ${views} photos.\n`);
  const fNames = tolerances.map((tolerance) => `F@${tolerance}`);
  row(
    '',
    'Chamfer',
    `of ${baseline}'s`,
    ...fNames,
    'silhouette',
    'Chamfer seen',
    'unseen',
    'colour seen',
    'unseen',
    'closed',
    'failed',
    'seconds',
  );
  row('---', ...Array(10 + fNames.length).fill('--:'));
  const of = (name, which = () => true) => results.filter((result) => result.bundle === name && which(result));
  const reference = mean(of(baseline), 'chamfer');
  for (const name of names) {
    const mine = of(name);
    row(
      name,
      mean(mine, 'chamfer').toFixed(4),
      (mean(mine, 'chamfer') / reference).toFixed(2),
      ...tolerances.map((_, i) => average(mine.map(({ fScores }) => fScores[i])).toFixed(3)),
      mean(mine, 'iou').toFixed(3),
      mean(mine, 'chamferSeen').toFixed(3),
      mean(mine, 'chamferUnseen').toFixed(3),
      mean(mine, 'colorSeen').toFixed(3),
      mean(mine, 'colorUnseen').toFixed(3),
      `${mine.filter(({ watertight }) => watertight).length} of ${mine.length}`,
      String(mine.filter(({ failed }) => failed).length),
      average(mine.flatMap(({ seconds }) => seconds ?? [])).toFixed(1),
    );
  }
  console.log('\nBy kind: Chamfer / F@0.05\n');
  row('', 'photos', ...names);
  row('---', '--:', ...names.map(() => '--:'));
  const group = (title, which) => {
    const cells = names.map((name) => {
      const mine = of(name, which);
      return `${mean(mine, 'chamfer').toFixed(3)} / ${average(mine.map(({ fScores }) => fScores[0])).toFixed(2)}`;
    });
    row(title, String(of(names[0], which).length), ...cells);
  };
  for (const kind of kinds) group(kind, (result) => result.kind === kind);
  for (const [title, seen] of [
    ['**kinds that training makes**', true],
    ['**other kinds**', false],
  ]) {
    if (objects.some((object) => object.seen === seen)) group(title, (result) => result.seen === seen);
  }
}

const average = (values) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
const mean = (results, figure) => average(results.map((result) => result[figure]));
