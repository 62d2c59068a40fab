// Renders docs/pictures/quality-BUNDLE.jpg: the models that each bundle makes of 16 objects of the benchmark and of the
// demo's photos, from all sides.
//
//   node models/lab/quality/sheet.mjs inflate gen3d-base
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, parse } from 'node:path';
import { Engine } from '../../../packages/engine/dist/index.js';
import { contactSheet } from '../../../scripts/images/contact-sheet.mjs';
import { Failed, main } from '../../../scripts/processes.mjs';
import { demoPhotos, root } from '../../../scripts/repository.mjs';
import { readSet } from './read-set.mjs';

const objectIds = [
  ...['oak-chair', 'oak-table', 'dresser', 'kettle', 'spray-bottle', 'table-lamp', 'horse', 'man-standing'],
  ...['fork-lift', 'boots', 'backpack', 'potted-plant', 'teddy-bear', 'hamburger', 'drill', 'electric-guitar'],
];

await main(async (atEnd) => {
  const bundles = process.argv.slice(2);
  if (bundles.length === 0) throw new Failed('Usage: node models/lab/quality/sheet.mjs BUNDLE...');
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-images-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const objects = readSet(join(root, 'models/lab/sets/benchmark')).filter(({ id }) => objectIds.includes(id));
  const photos = [...objects.map(({ photos }) => photos[0]), ...demoPhotos()];
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
    writeFileSync(join(root, `docs/pictures/quality-${bundle}.jpg`), sheet);
  }
});
