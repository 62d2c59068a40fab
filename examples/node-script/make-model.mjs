// node make-model.mjs photo.jpg [model.glb]
import { writeFile } from 'node:fs/promises';
import { Gen3d, Gen3dError, JobFailedError } from '@gen3d/sdk';

const [photo, model = photo?.replace(/\.\w+$/, '.glb')] = process.argv.slice(2);
if (!photo) {
  console.error('Usage: node make-model.mjs PHOTO [MODEL.glb]');
  process.exit(2);
}

try {
  // Reads GEN3D_API_KEY, and GEN3D_BASE_URL if it is set.
  const gen3d = new Gen3d();
  const task = await gen3d.generate(photo, {
    onProgress: ({ status, progress }) => console.error(`${status} ${progress} %`),
  });
  await writeFile(model, await gen3d.download(task));
  console.log(model);
} catch (error) {
  if (!(error instanceof Gen3dError)) throw error;
  // The code of a failed job, such as no_foreground, says what is wrong with the photo.
  console.error(error instanceof JobFailedError ? `${error.code}: ${error.message}` : error.message);
  process.exitCode = 1;
}
