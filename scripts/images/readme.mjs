// Draws the README's pictures from what `npm run demo` left in demo-output/.
import { existsSync, writeFileSync } from 'node:fs';
import { join, parse } from 'node:path';
import { Failed, main } from '../processes.mjs';
import { demoPhotos, root } from '../repository.mjs';
import { contactSheet } from './contact-sheet.mjs';

await main(async () => {
  const models = demoPhotos().map((photo) => ({ photo, glb: join(root, `demo-output/${parse(photo).name}.glb`) }));
  if (!models.every(({ glb }) => existsSync(glb))) throw new Failed('Run `npm run demo` first: it makes the models.');
  const good = models.filter(({ photo }) => /painted-chair|teapot/.test(photo));
  writeFileSync(join(root, 'docs/pictures/photo-to-model.jpg'), await contactSheet(good, { size: 220, quality: 80 }));
  writeFileSync(join(root, 'docs/pictures/all-models.jpg'), await contactSheet(models, { size: 180, quality: 76 }));
});
