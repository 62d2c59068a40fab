// Renders docs/pictures/quality-BUNDLE.jpg: the models that each bundle makes of 16 objects of the benchmark and of the
// demo's photos, from all sides.
//
//   node models/lab/quality/sheet.mjs inflate gen3d-base
//
// With --photos, it renders the 24 photographs of real-photos.md instead, to real-photos-BUNDLE.jpg in the working
// folder. They come with Tux Paint:
//
//   apt-get download tuxpaint-stamps-default && dpkg-deb -x tuxpaint-stamps-default_*.deb /tmp/tuxpaint
//   node models/lab/quality/sheet.mjs --photos /tmp/tuxpaint/usr/share/tuxpaint/stamps gen3d-base
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, parse } from 'node:path';
import { parseArgs } from 'node:util';
import { Engine } from '../../../packages/engine/dist/index.js';
import { contactSheet } from '../../../scripts/images/contact-sheet.mjs';
import { Failed, main } from '../../../scripts/processes.mjs';
import { demoPhotos, root } from '../../../scripts/repository.mjs';
import { readSet } from './read-set.mjs';

const objectIds = [
  ...['oak-chair', 'oak-table', 'dresser', 'kettle', 'spray-bottle', 'table-lamp', 'horse', 'man-standing'],
  ...['fork-lift', 'boots', 'backpack', 'potted-plant', 'teddy-bear', 'hamburger', 'drill', 'electric-guitar'],
];

const stamps = [
  ...['household/dishes/mug', 'household/dishes/pitcher_small', 'household/kettle', 'household/Lightbulb'],
  ...['household/garbagecan', 'household/home_compost_bin', 'household/wheelie_bin', 'household/cylinder'],
  ...['household/toilet', 'household/rubberduck', 'household/tools/toolbox', 'household/tools/hammer'],
  ...['household/tools/measuring_tape', 'hobbies/camera_35mm', 'hobbies/binoculars', 'hobbies/music/string/cello'],
  ...['hobbies/music/string/guitar_classical', 'hobbies/music/percussion/drum_tomtom_floor'],
  ...['hobbies/music/brass/trumpet', 'vehicles/auto/beetle', 'vehicles/emergency/firetruck'],
  ...['vehicles/construction/dumper', 'vehicles/cycle/pink_tricycle', 'food/fruit/pineapple'],
];

await main(async (atEnd) => {
  const { values, positionals: bundles } = parseArgs({
    options: { photos: { type: 'string' } },
    allowPositionals: true,
  });
  if (bundles.length === 0) throw new Failed('Usage: node models/lab/quality/sheet.mjs [--photos FOLDER] BUNDLE...');
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-images-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const objects = readSet(join(root, 'models/lab/sets/benchmark')).filter(({ id }) => objectIds.includes(id));
  const photos = values.photos
    ? stamps.map((stamp) => join(values.photos ?? '', `${stamp}.png`))
    : [...objects.map(({ photos }) => photos[0]), ...demoPhotos()];
  for (const bundle of bundles) {
    const engine = await Engine.open({ bundle, matte: 'isnet', device: 'auto', modelDirs: [join(root, 'models')] });
    const pairs = [];
    for (const photo of photos) {
      const glb = join(folder, `${bundle}-${parse(photo).name}.glb`);
      writeFileSync(glb, (await engine.generate(readFileSync(photo))).glb);
      pairs.push({ photo, glb });
    }
    await engine.close();
    const sheet = await contactSheet(pairs, { size: 150, quality: 76, sides: ['front', 'side', 'back', 'top'] });
    writeFileSync(
      values.photos ? `real-photos-${bundle}.jpg` : join(root, `docs/pictures/quality-${bundle}.jpg`),
      sheet,
    );
  }
});
