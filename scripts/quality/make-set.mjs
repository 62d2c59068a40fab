// Makes a set of objects to measure on: takes their models out of Debian packages, has Blender photograph them and sample
// their surfaces, and writes who made each and under which licence. What it makes is committed; nobody needs to run it.
//
//   node scripts/quality/make-set.mjs benchmarks/quality --sources DIR [--only ID,ID] [--threads 1]
//
// DIR holds the packages named under "sources" in the set's objects.json (`apt-get download NAME=VERSION`) and, for a source
// with a "repository", a clone of it in a folder of the source's name. Blender 3.4 (`apt-get install blender python3-numpy`),
// dpkg-deb and unzip must be installed. About 30 s an object on one core.
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
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Failed, main } from '../processes.mjs';
import { requireFrom } from '../repository.mjs';
import { notice } from './notice.mjs';
import { openSource } from './sources.mjs';

const sharp = requireFrom('engine')('sharp');
const photosEach = 2;

await main(async (atEnd) => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { sources: { type: 'string' }, only: { type: 'string' }, threads: { type: 'string', default: '1' } },
  });
  const [folder] = positionals;
  if (!folder || !values.sources) throw new Failed('Usage: node scripts/quality/make-set.mjs SET --sources DIR');
  const set = JSON.parse(readFileSync(join(folder, 'objects.json'), 'utf8'));
  const work = mkdtempSync(join(tmpdir(), 'gen3d-set-'));
  atEnd(() => rmSync(work, { recursive: true, force: true }));
  const sources = Object.fromEntries(
    Object.entries(set.sources).map(([name, source]) => [
      name,
      openSource(name, source, resolve(values.sources), work),
    ]),
  );
  const models = new Map();
  for (const object of set.objects) models.set(object.id, await sources[object.source].find(object));

  const only = values.only?.split(',');
  const wanted = set.objects.filter(({ id }) => !only || only.includes(id));
  for (const name of ['photos', 'points']) mkdirSync(join(folder, name), { recursive: true });
  const fileOf = (id, ending) => join(work, `${id}${ending}`);
  const job = {
    size: 512,
    samples: 24,
    points: 16384,
    threads: Number(values.threads),
    objects: wanted.map(({ id, turn, drop }) => ({
      id,
      turn,
      drop,
      ...models.get(id).load,
      photos: Array.from({ length: photosEach }, (_, view) => fileOf(id, `-${view + 1}.png`)),
      points: fileOf(id, '.points.gz'),
      view: fileOf(id, '.json'),
    })),
  };
  writeFileSync(join(work, 'job.json'), JSON.stringify(job));
  const script = fileURLToPath(new URL('make-set.py', import.meta.url));
  const args = ['-b', '--factory-startup', '-P', script, '--', join(work, 'job.json')];
  const { error } = spawnSync('blender', args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (error) throw new Failed(`Blender did not start: ${error.message}`);

  const made = {};
  const missing = [];
  for (const { id, photos, points, view } of job.objects) {
    if (!existsSync(view)) {
      missing.push(id);
      continue;
    }
    made[id] = JSON.parse(readFileSync(view, 'utf8'));
    copyFileSync(points, join(folder, 'points', `${id}.points.gz`));
    for (const [index, photo] of photos.entries()) {
      const webp = sharp(photo).webp({ quality: 92, alphaQuality: 100, effort: 6 });
      await webp.toFile(join(folder, 'photos', `${id}-${index + 1}.webp`));
    }
  }
  const viewsFile = join(folder, 'views.json');
  const views = { ...(existsSync(viewsFile) && JSON.parse(readFileSync(viewsFile, 'utf8'))), ...made };
  removeStrangers(folder, new Set(models.keys()));
  const listed = set.objects.filter(({ id }) => views[id]);
  const lines = listed.map(({ id }) => `${JSON.stringify(id)}: ${JSON.stringify(views[id])}`);
  writeFileSync(viewsFile, `{\n${lines.join(',\n')}\n}\n`);
  writeFileSync(join(folder, 'NOTICE.md'), notice(set, listed, models));
  if (missing.length > 0) {
    throw new Failed(
      `Blender made nothing of ${missing.join(', ')}; its words are above. Where it crashed, leave out the first of these.`,
    );
  }
});

/** Pictures and points of objects that are no longer in the set. */
function removeStrangers(folder, ids) {
  for (const name of ['photos', 'points']) {
    for (const file of readdirSync(join(folder, name))) {
      if (!ids.has(file.replace(/(-\d+\.webp|\.points\.gz)$/, ''))) rmSync(join(folder, name, file));
    }
  }
}
