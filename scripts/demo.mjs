// `npm run demo`: from a fresh clone to a textured model of every photo in examples/photos, and of one object from four
// photos, through a real server and the real command line. Writes to the repository and a temporary folder only.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { basename, join, parse, relative } from 'node:path';
import { Failed, main, start } from './processes.mjs';
import { demoPhotos, demoSides, requireNode, root } from './repository.mjs';
import { startThrowawayServer } from './throwaway-server.mjs';

/** @typedef {Awaited<ReturnType<typeof makeModel>>} Result */

requireNode();
const outputFolder = join(root, 'demo-output');
const inTerminal = process.stdout.isTTY === true;
/** In a log, a long step has a line this often. */
const logIntervalMs = 15_000;

await main(async (atEnd) => {
  await step('Installing (a few minutes the first time: SQLite is compiled)', () => npm('setup'));
  await step('Building', () => npm('build'));

  rmSync(outputFolder, { recursive: true, force: true });
  mkdirSync(outputFolder, { recursive: true });
  const server = await step('Starting a server', () => startThrowawayServer(atEnd));

  /** @type {Result[]} */
  const results = [];
  /** @type {Failed[]} */
  const failures = [];
  const truck = demoSides('wooden-truck');
  const objects = [
    ...demoPhotos().map((photo) => ({ photo, others: {} })),
    { photo: truck.front, others: truck.others },
  ];
  for (const { photo, others } of objects) {
    const sides = Object.keys(others).length > 0 ? ' and its other sides' : '';
    try {
      results.push(await step(`${basename(photo)}${sides} to 3D`, () => makeModel(server, photo, others)));
    } catch (error) {
      // A user's own photo may show no object. Continue with the others.
      if (!(error instanceof Failed)) throw error;
      failures.push(error);
    }
  }
  const reasons = failures.map(({ message }) => message).join('\n');
  if (results.length === 0) throw new Failed(`${server.log()}\n${reasons}`);

  const sheet = join(outputFolder, 'contact-sheet.jpg');
  await step('Rendering the models from all sides', async () => {
    const { contactSheet } = await import('./images/contact-sheet.mjs');
    writeFileSync(sheet, await contactSheet(results));
  });
  await step('Stopping the server', () => server.close());

  console.log(`\n${table(results)}\n`);
  if (reasons) console.log(`${reasons}\n`);
  console.log(`Models and thumbnails:  ${relative('', outputFolder) || '.'}/`);
  console.log(`All from all sides:     ${relative('', sheet)}`);
  console.log(
    'Your own photos:        run `node packages/cli/bin/gen3d.js serve`, and drop them on the page that it names,',
  );
  console.log(
    '                        which also shows the models. Other viewers, such as Blender, open the files above',
  );
  if (reasons) process.exitCode = 1;
});

/** @param {string} script */
async function npm(script) {
  const { code, both } = await start('npm', ['run', script], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: true,
  }).ended;
  if (code !== 0) throw new Failed(`${both.slice(-4000)}\nnpm run ${script} failed. The end of its output is above.`);
}

/**
 * @param {import('./throwaway-server.mjs').ThrowawayServer} server
 * @param {string} photo
 * @param {Record<string, string>} others photos by side
 */
async function makeModel({ gen3d }, photo, others) {
  const { name } = parse(photo);
  const glb = join(outputFolder, `${name}.glb`);
  const thumbnail = join(outputFolder, `${name}.jpg`);
  const startedAt = performance.now();
  const flags = Object.entries(others).flatMap(([side, path]) => [`--${side}`, path]);
  const task = JSON.parse(await succeeded(['create', photo, ...flags, '--wait', '-o', glb, '--json']));
  const seconds = (performance.now() - startedAt) / 1000;
  await succeeded(['download', task.task_id, '--thumbnail', '-o', thumbnail]);
  return { photo, others: Object.values(others), glb, seconds, ...sizeOf(glb) };

  /** @param {readonly string[]} args */
  async function succeeded(args) {
    const { code, stdout, stderr } = await gen3d(args);
    if (code !== 0) throw new Failed(`gen3d ${args[0]} failed for ${basename(photo)}: ${stderr.trim()}`);
    return stdout;
  }
}

/**
 * Reads the first chunk of a GLB, which is JSON. The file's header takes 12 bytes, the chunk's 8.
 *
 * @param {string} path
 */
function sizeOf(path) {
  const bytes = readFileSync(path);
  const json = JSON.parse(bytes.subarray(20, 20 + bytes.readUInt32LE(12)).toString());
  const { indices } = json.meshes[0].primitives[0];
  return { megabytes: bytes.length / 1e6, triangles: json.accessors[indices].count / 3 };
}

/**
 * @template T
 * @param {string} title
 * @param {() => Promise<T>} work
 */
async function step(title, work) {
  if (inTerminal) process.stdout.write(`  ${title} ...`);
  const startedAt = performance.now();
  const elapsed = () => `${Math.round((performance.now() - startedAt) / 1000)} s`;
  const report = () => {
    const line = `  ${title} ... ${elapsed()}${isBusy() ? ', this machine is busy' : ''}`;
    process.stdout.write(inTerminal ? `\r\x1b[2K${line}` : `${line}\n`);
  };
  const timer = setInterval(report, inTerminal ? 1_000 : logIntervalMs);
  try {
    const result = await work();
    const seconds = `${((performance.now() - startedAt) / 1000).toFixed(1)} s${isBusy() ? ' on a busy machine' : ''}`;
    process.stdout.write(`${inTerminal ? '\r\x1b[2K\x1b[32m✓\x1b[0m' : '✓'} ${title}, ${seconds}\n`);
    return result;
  } catch (error) {
    process.stdout.write(`${inTerminal ? '\r\x1b[2K\x1b[31m✗\x1b[0m' : '✗'} ${title}\n`);
    throw error;
  } finally {
    clearInterval(timer);
  }
}

/** Whether more programs want to run than this machine has cores for. Windows does not say. */
function isBusy() {
  return loadavg()[0] > 1.5 * availableParallelism();
}

/** @param {readonly Result[]} results */
function table(results) {
  const rows = [
    ['model', 'time', 'size', 'triangles'],
    ...results.map(({ glb, seconds, megabytes, triangles }) => [
      basename(glb),
      `${seconds.toFixed(1)} s`,
      `${megabytes.toFixed(1)} MB`,
      triangles.toLocaleString('en'),
    ]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column].length)));
  return rows
    .map((row) => row.map((cell, column) => (column ? cell.padStart(widths[column]) : cell.padEnd(widths[0]))))
    .map((cells) => `  ${cells.join('   ')}`)
    .join('\n');
}
