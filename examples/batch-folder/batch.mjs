// node batch.mjs photos/ models/           creates the missing models and exits
// node batch.mjs photos/ models/ --watch   also watches for new photos
// `gen3d watch` does the same. Use this as a starting point for a program of your own.
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Gen3d, Gen3dError } from '@gen3d/sdk';

const [photos, models, watch] = process.argv.slice(2);
if (!photos || !models) {
  console.error('Usage: node batch.mjs PHOTOS MODELS [--watch]');
  process.exit(2);
}
if (!(await stat(photos).catch(() => undefined))?.isDirectory()) {
  console.error(`${photos} is not a folder. Pass the folder of the photos`);
  process.exit(1);
}

const gen3d = connect();
const concurrency = 4;
/** The photos attempted in this run, by name and content. */
const attempted = new Set();

await mkdir(models, { recursive: true });
for (;;) {
  const queue = (await photosWithoutModel()).values();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (const name of queue) await createModel(name);
    }),
  );
  if (watch !== '--watch') break;
  await sleep(2000);
}

function connect() {
  try {
    return new Gen3d();
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

/** The photos without a model. When watching, skips photos that changed within the last second: a copy may be in progress. */
async function photosWithoutModel() {
  const finished = new Set((await readdir(models)).map((name) => parse(name).name));
  const names = (await readdir(photos)).filter((name) => /^[^.].*\.(jpe?g|png|webp)$/i.test(name));
  const found = [];
  for (const name of names) {
    if (finished.has(parse(name).name)) continue;
    const { mtimeMs } = await stat(join(photos, name));
    if (!watch || Date.now() - mtimeMs > 1000) found.push(name);
  }
  return found;
}

async function createModel(name) {
  const photo = await readFile(join(photos, name));
  const hash = createHash('sha256').update(photo).digest('hex');
  if (attempted.has(name + hash)) return;
  attempted.add(name + hash);
  const model = join(models, `${parse(name).name}.glb`);
  try {
    // The same photo has the same job, even if this program was interrupted and restarted.
    const task = await gen3d.generate(photo, { idempotencyKey: `batch-${hash}` });
    await writeFile(`${model}.part`, await gen3d.download(task));
    await rename(`${model}.part`, model);
    console.log(model);
  } catch (error) {
    if (!(error instanceof Gen3dError)) throw error;
    console.error(`${name}: ${error.message}`);
    process.exitCode = 1;
  }
}
