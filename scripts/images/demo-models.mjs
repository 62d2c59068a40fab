import { existsSync } from 'node:fs';
import { join, parse } from 'node:path';
import { Failed } from '../processes.mjs';
import { demoPhotos, root } from '../repository.mjs';

/** The demo photos with the models that `npm run demo` has made of them. */
export function demoModels() {
  const models = demoPhotos().map((photo) => ({ photo, glb: join(root, `demo-output/${parse(photo).name}.glb`) }));
  if (!models.every(({ glb }) => existsSync(glb))) throw new Failed('Run `npm run demo` first: it makes the models.');
  return models;
}
