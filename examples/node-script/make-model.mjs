// node make-model.mjs photo.jpg [model.glb]
import { writeFile } from 'node:fs/promises';
import { Gen3d, JobFailedError } from '@gen3d/sdk';

const [photo, model = photo?.replace(/\.\w+$/, '.glb')] = process.argv.slice(2);
if (!photo) {
  console.error('Usage: node make-model.mjs PHOTO [MODEL.glb]');
  process.exit(2);
}

// Without arguments: the key from GEN3D_API_KEY, the server from GEN3D_BASE_URL, or the one on this machine.
const gen3d = new Gen3d();
try {
  const task = await gen3d.generate(photo, {
    onProgress: ({ status, progress }) => console.error(`${status} ${progress} %`),
  });
  await writeFile(model, await gen3d.download(task));
  console.log(model);
} catch (error) {
  // The photo's fault, such as no_foreground; anything else is told as it is.
  if (!(error instanceof JobFailedError)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
}
