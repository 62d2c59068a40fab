// Makes a set of objects to measure quality on: unpacks their models from Debian packages, renders photos of them and
// samples their surfaces in Blender, and writes a notice with authors and licenses. Its output is committed.
//
//   node models/lab/quality/make-set.mjs models/lab/sets/benchmark --sources DIR [--sides] [--only ID,ID] [--threads 1]
//
// With --sides, it renders the four photos of the sides of objects that the set contains, instead of their photos and
// points: front, left, back and right, as a person takes them.
//
// DIR contains the packages named under "sources" in the set's objects.json (`apt-get download NAME=VERSION`) and, for a
// source with a "repository", a clone of it in a folder with the source's name. Needs Blender 3.4 (`apt-get install
// blender python3-numpy`), dpkg-deb and unzip. Takes about 30 s per object on one core.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Failed, main } from '../../../scripts/processes.mjs';
import { requireFrom } from '../../../scripts/repository.mjs';
import { notice } from './notice.mjs';
import { sides } from './read-set.mjs';
import { openSource } from './sources.mjs';

/** @type {typeof import('sharp').default} */
const sharp = requireFrom('engine')('sharp');
const photosPerObject = 2;

/** @typedef {import('./sources.mjs').ObjectDescription & { turn?: number, drop?: string[] }} ObjectDescription */

await main(async (atEnd) => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      sources: { type: 'string' },
      sides: { type: 'boolean', default: false },
      only: { type: 'string' },
      threads: { type: 'string', default: '1' },
    },
  });
  const [folder] = positionals;
  if (!folder || !values.sources) throw new Failed('Usage: node models/lab/quality/make-set.mjs SET --sources DIR');
  /**
   * @type {{ sources: Record<string, import('./sources.mjs').SourceDescription>, objects: ObjectDescription[],
   *   notice: string[] }}
   */
  const set = JSON.parse(readFileSync(join(folder, 'objects.json'), 'utf8'));
  const work = mkdtempSync(join(tmpdir(), 'gen3d-set-'));
  atEnd(() => rmSync(work, { recursive: true, force: true }));
  const folders = { downloads: resolve(values.sources), work };
  const sources = Object.fromEntries(
    Object.entries(set.sources).map(([name, source]) => [name, openSource(name, source, folders)]),
  );
  /** @type {Record<string, import('./sources.mjs').Model>} */
  const models = {};
  for (const object of set.objects) models[object.id] = await sources[object.source].find(object);

  const only = values.only?.split(',');
  const selected = set.objects.filter(({ id }) => !only || only.includes(id));
  for (const name of ['photos', 'points']) mkdirSync(join(folder, name), { recursive: true });
  /** @type {(id: string, ending: string) => string} */
  const fileOf = (id, ending) => join(work, `${id}${ending}`);
  const names = values.sides ? sides : Array.from({ length: photosPerObject }, (_, view) => String(view + 1));
  /** @type {(id: string) => object} */
  const rendered = (id) =>
    values.sides
      ? { sides: Object.fromEntries(sides.map((side) => [side, fileOf(id, `-${side}.png`)])) }
      : { photos: names.map((name) => fileOf(id, `-${name}.png`)), points: fileOf(id, '.points.gz') };
  const job = {
    size: 512,
    // The photos of sides are filtered.
    samples: values.sides ? 8 : 24,
    points: 16384,
    threads: Number(values.threads),
    objects: selected.map(({ id, turn, drop }) => ({
      id,
      turn,
      drop,
      ...models[id].load,
      ...rendered(id),
      view: fileOf(id, '.json'),
    })),
  };
  writeFileSync(join(work, 'job.json'), JSON.stringify(job));
  const script = join(import.meta.dirname, 'make_set.py');
  const args = ['-b', '--factory-startup', '-P', script, '--', join(work, 'job.json')];
  const { error } = spawnSync('blender', args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (error) throw new Failed(`Blender did not start: ${error.message}`);

  const viewsFile = join(folder, 'views.json');
  /** @type {Record<string, object>} */
  const views = existsSync(viewsFile) ? JSON.parse(readFileSync(viewsFile, 'utf8')) : {};
  const missing = [];
  for (const { id, view } of job.objects) {
    if (!existsSync(view)) {
      missing.push(id);
      continue;
    }
    views[id] = { ...views[id], ...JSON.parse(readFileSync(view, 'utf8')) };
    if (!values.sides) copyFileSync(fileOf(id, '.points.gz'), join(folder, 'points', `${id}.points.gz`));
    for (const name of names) {
      const webp = sharp(fileOf(id, `-${name}.png`)).webp({ quality: 92, alphaQuality: 100, effort: 6 });
      await webp.toFile(join(folder, 'photos', `${id}-${name}.webp`));
    }
  }
  removeOthers(folder, new Set(Object.keys(models)));
  const listed = set.objects.filter(({ id }) => views[id]);
  const lines = listed.map(({ id }) => `${JSON.stringify(id)}: ${JSON.stringify(views[id])}`);
  writeFileSync(viewsFile, `{\n${lines.join(',\n')}\n}\n`);
  writeFileSync(
    join(folder, 'NOTICE.md'),
    notice(set, listed, (id) => models[id]),
  );
  if (missing.length > 0) {
    throw new Failed(
      `Blender made no photos of ${missing.join(', ')}. Its output is above. If it crashed, leave out the first of these.`,
    );
  }
});

/**
 * Removes photos and points of objects that are no longer in the set.
 *
 * @param {string} folder
 * @param {ReadonlySet<string>} ids
 */
function removeOthers(folder, ids) {
  for (const name of ['photos', 'points']) {
    for (const file of readdirSync(join(folder, name))) {
      if (!ids.has(file.replace(/(-\w+\.webp|\.points\.gz)$/, ''))) rmSync(join(folder, name, file));
    }
  }
}
