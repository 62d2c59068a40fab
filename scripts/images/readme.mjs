// Renders the README's images from the output of `npm run demo`.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { main } from '../processes.mjs';
import { root } from '../repository.mjs';
import { contactSheet, demoModels } from './contact-sheet.mjs';

await main(async () => {
  const models = demoModels();
  const selected = models.filter(({ photo }) => /painted-chair|teapot/.test(photo));
  const folder = join(root, 'docs/pictures');
  writeFileSync(join(folder, 'photo-to-model.jpg'), await contactSheet(selected, { size: 220, quality: 80 }));
  writeFileSync(join(folder, 'all-models.jpg'), await contactSheet(models, { size: 180, quality: 76 }));
});
