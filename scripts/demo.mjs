// `npm run demo`: from a fresh clone to textured models of every photo in examples/photos, through a real server and
// the real command line. Nothing outside this folder and a temporary one is touched.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, parse, relative } from 'node:path';
import { Failed, main, start } from './processes.mjs';
import { demoPhotos, root } from './repository.mjs';
import { requireNode } from './require-node.mjs';
import { startThrowawayServer } from './throwaway-server.mjs';

requireNode();
const outputFolder = join(root, 'demo-output');
const watched = process.stdout.isTTY === true;

await main(async (atEnd) => {
  await step('Installing (the first time a few minutes: SQLite is compiled)', () => npm('setup'));
  await step('Building', () => npm('build'));

  rmSync(outputFolder, { recursive: true, force: true });
  mkdirSync(outputFolder, { recursive: true });
  const server = await step('Starting a server', () => startThrowawayServer(atEnd));

  const results = [];
  for (const photo of demoPhotos()) {
    results.push(await step(`${basename(photo)} to 3D`, () => makeModel(server, photo)));
  }

  const sheet = join(outputFolder, 'contact-sheet.jpg');
  await step('Drawing them from all sides', async () => {
    const { contactSheet } = await import('./images/contact-sheet.mjs');
    writeFileSync(sheet, await contactSheet(results));
  });
  await step('Stopping the server', () => server.close());

  console.log(`\n${table(results)}\n`);
  console.log(`Models and thumbnails:  ${relative('', outputFolder) || '.'}/`);
  console.log(`All from all sides:     ${relative('', sheet)}`);
  console.log('Look at a model:        drop it on https://gltf-viewer.donmccurdy.com, or open it in Blender');
});

async function npm(script) {
  const options = { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], shell: true };
  const { code, both } = await start('npm', ['run', script], options).ended;
  if (code !== 0) throw new Failed(`${both.slice(-4000)}\nnpm run ${script} failed; its last words are above.`);
}

async function makeModel({ gen3d, log }, photo) {
  const { name } = parse(photo);
  const glb = join(outputFolder, `${name}.glb`);
  const thumbnail = join(outputFolder, `${name}.jpg`);
  const startedAt = performance.now();
  const task = JSON.parse(await succeeded(['create', photo, '--wait', '-o', glb, '--json']));
  const seconds = (performance.now() - startedAt) / 1000;
  await succeeded(['download', task.task_id, '--thumbnail', '-o', thumbnail]);
  return { photo, glb, seconds, ...sizeOf(glb) };

  async function succeeded(args) {
    const { code, stdout, stderr } = await gen3d(args);
    if (code !== 0) throw new Failed(`${log()}\ngen3d ${args[0]} failed on ${basename(photo)}: ${stderr.trim()}`);
    return stdout;
  }
}

/** A GLB's first chunk is JSON: the header is 12 bytes, the chunk's own 8. */
function sizeOf(path) {
  const bytes = readFileSync(path);
  const json = JSON.parse(bytes.subarray(20, 20 + bytes.readUInt32LE(12)).toString());
  const { indices } = json.meshes[0].primitives[0];
  return { megabytes: bytes.length / 1e6, triangles: json.accessors[indices].count / 3 };
}

async function step(title, work) {
  if (watched) process.stdout.write(`  ${title} ...`);
  const startedAt = performance.now();
  try {
    const result = await work();
    const seconds = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
    process.stdout.write(`${watched ? '\r\x1b[2K\x1b[32m✓\x1b[0m' : '✓'} ${title}, ${seconds}\n`);
    return result;
  } catch (error) {
    process.stdout.write(`${watched ? '\r\x1b[2K\x1b[31m✗\x1b[0m' : '✗'} ${title}\n`);
    throw error;
  }
}

function table(results) {
  const rows = results.map(({ glb, seconds, megabytes, triangles }) => [
    basename(glb),
    `${seconds.toFixed(1)} s`,
    `${megabytes.toFixed(1)} MB`,
    triangles.toLocaleString('en'),
  ]);
  const all = [['model', 'time', 'size', 'triangles'], ...rows];
  const widths = all[0].map((_, column) => Math.max(...all.map((row) => row[column].length)));
  const line = ([name, ...cells]) =>
    `  ${name.padEnd(widths[0])}${cells.map((cell, index) => `   ${cell.padStart(widths[index + 1])}`).join('')}`;
  return all.map(line).join('\n');
}
