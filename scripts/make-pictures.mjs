// Draws the README's pictures from what `npm run demo` left in demo-output/.
import { existsSync, writeFileSync } from 'node:fs';
import { parse } from 'node:path';
import { fileURLToPath } from 'node:url';
import { contactSheet } from './contact-sheet.mjs';
import { demoPhotos } from './photos.mjs';
import { Failed, main } from './processes.mjs';

const pathOf = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

await main(async () => {
  const models = demoPhotos().map((photo) => ({ photo, glb: pathOf(`demo-output/${parse(photo).name}.glb`) }));
  if (!models.every(({ glb }) => existsSync(glb))) throw new Failed('Run `npm run demo` first: it makes the models.');
  const good = models.filter(({ photo }) => /painted-chair|teapot/.test(photo));
  writeFileSync(pathOf('docs/pictures/photo-to-model.jpg'), await contactSheet(good, { size: 220, quality: 80 }));
  writeFileSync(pathOf('docs/pictures/all-models.jpg'), await contactSheet(models, { size: 180, quality: 76 }));
});
