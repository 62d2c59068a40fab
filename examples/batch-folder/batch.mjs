// node batch.mjs photos/ models/           makes what is missing, then ends
// node batch.mjs photos/ models/ --watch   and goes on with what comes
// `gen3d watch` does this without any code; here it is as a start for your own.
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
  console.error(`${photos} is no folder: give the one with the photos`);
  process.exit(1);
}

const gen3d = connect();
const atOnce = 4;
/** Photos that were tried in this run, by name and what was in them. */
const tried = new Set();

await mkdir(models, { recursive: true });
for (;;) {
  const waiting = (await missing()).values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const name of waiting) await make(name);
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

/** The photos that have no model, and have been left alone for a second: one that is being copied is not whole yet. */
async function missing() {
  const made = new Set((await readdir(models)).map((name) => parse(name).name));
  const names = (await readdir(photos)).filter((name) => /^[^.].*\.(jpe?g|png|webp)$/i.test(name));
  const settled = [];
  for (const name of names) {
    if (made.has(parse(name).name)) continue;
    const { mtimeMs } = await stat(join(photos, name));
    if (!watch || Date.now() - mtimeMs > 1000) settled.push(name);
  }
  return settled;
}

async function make(name) {
  const photo = await readFile(join(photos, name));
  const hash = createHash('sha256').update(photo).digest('hex');
  if (tried.has(name + hash)) return;
  tried.add(name + hash);
  const model = join(models, `${parse(name).name}.glb`);
  try {
    // The same photo is the same job, also when this program was ended in the middle and starts again.
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
