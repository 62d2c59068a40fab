// The time from the end of a checkpoint's download to the first GLB, on a running server and without Python.
//
//   python3 models/lab/exporters/triposr/prove.py REFERENCE --size full --keep FOLDER
//   node models/lab/exporters/triposr/first-glb.mjs FOLDER
//
// Serves the checkpoint that prove.py kept over HTTP on loopback, pulls it, makes it the default of a server that runs
// another bundle, and makes a model.
import { once } from 'node:events';
import { createReadStream, statSync } from 'node:fs';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Failed, main } from '../../../../scripts/processes.mjs';
import { root } from '../../../../scripts/repository.mjs';
import { startThrowawayServer } from '../../../../scripts/throwaway-server.mjs';

main(async (atEnd) => {
  const [folder] = process.argv.slice(2);
  if (!folder) throw new Failed('Usage: node models/lab/exporters/triposr/first-glb.mjs FOLDER');
  const checkpoint = join(folder, 'model.ckpt');
  let downloadedAt = 0;
  const host = createServer(async (_request, response) => {
    response.setHeader('content-length', statSync(checkpoint).size);
    await pipeline(createReadStream(checkpoint), response);
    downloadedAt = performance.now();
  }).listen(0, '127.0.0.1');
  await once(host, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (host.address());

  const server = await startThrowawayServer(atEnd, ['--device', 'cpu']);
  const models = join(server.dataDir, 'models');
  await mkdir(models, { recursive: true });
  await cp(join(folder, 'skeletons'), join(models, 'skeletons'), { recursive: true });
  const catalog = JSON.parse(await readFile(join(folder, 'catalog.json'), 'utf8'));
  const [entry] = catalog.bundles;
  entry.urls = { 'model.ckpt': `http://127.0.0.1:${port}/model.ckpt` };
  await writeFile(join(models, 'catalog.json'), JSON.stringify(catalog));

  const { name } = entry.manifest;
  const photo = join(root, 'examples/photos/toy-truck.png');
  for (const args of [
    ['models', 'pull', name],
    ['models', 'use', name],
    ['create', photo, '--wait', '-o', join(server.folder, 'first.glb')],
  ]) {
    const { code } = await server.gen3d(args, { stderr: 'inherit' });
    if (code !== 0) throw new Failed(`gen3d ${args[0]} failed.\n${server.log()}`);
    const seconds = (performance.now() - downloadedAt) / 1_000;
    console.log(`${seconds.toFixed(1)} s after the download: gen3d ${args.slice(0, 2).join(' ')} is done`);
  }
  const glb = await readFile(join(server.folder, 'first.glb'));
  const { asset } = JSON.parse(glb.toString('utf8', 20, 20 + glb.readUInt32LE(12)));
  console.log(`${glb.length} bytes, made by ${JSON.stringify(asset.extras.bundles)}`);
  await server.close();
  host.closeAllConnections();
  host.close();
});
