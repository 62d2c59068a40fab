// Renders the README's images from the output of `npm run demo`.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Engine } from '../../packages/engine/dist/index.js';
import { main } from '../processes.mjs';
import { demoSides, root } from '../repository.mjs';
import { contactSheet, demoModels } from './contact-sheet.mjs';

await main(async () => {
  const models = demoModels();
  const { front, others } = demoSides('wooden-truck');
  const fromOne = join(root, 'demo-output/wooden-truck.front.glb');
  const engine = await Engine.open({
    bundle: 'gen3d-base',
    matte: 'isnet',
    device: 'auto',
    modelDirs: [join(root, 'models')],
  });
  writeFileSync(fromOne, (await engine.generate(readFileSync(front))).glb);
  await engine.close();
  const fromFour = join(root, 'demo-output/wooden-truck.glb');
  const rows = [
    { photo: front, glb: fromOne },
    { photo: front, others: Object.values(others), glb: fromFour },
  ];
  const folder = join(root, 'docs/pictures');
  writeFileSync(
    join(folder, 'one-and-four-photos.jpg'),
    await contactSheet(rows, { size: 220, quality: 80, sides: ['front', 'otherSide', 'back', 'side'] }),
  );
  writeFileSync(join(folder, 'all-models.jpg'), await contactSheet(models, { size: 180, quality: 76 }));
});
