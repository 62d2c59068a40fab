// The engine's half of prove.py: runs one graph of a bundle.
//
//   node models/lab/exporters/triposg/run-graph.mjs JOB.json
//
// JOB.json: {"bundle": folder, "graph": file, "inputs": {name: {"shape", "file"}}, "output": name, "out": file}. The
// files contain float32 values. Prints the seconds for loading and for running, and the peak memory in MiB. Loads the
// engine's sources, because its package exports no single steps.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createViteServer } from 'vitest/node';

const { bundle, graph, inputs, output, out } = JSON.parse(await readFile(process.argv[2] ?? '', 'utf8'));
const vite = await createViteServer({
  root: join(import.meta.dirname, '../../../../packages/engine/src'),
  configFile: false,
  logLevel: 'error',
  server: { middlewareMode: true, ws: false },
});
const { loadBundle } = await vite.ssrLoadModule('/bundle/load-bundle.ts');
const { openSession } = await vite.ssrLoadModule('/network/session.ts');

let start = performance.now();
/** @param {string} name */
const lap = (name) => {
  console.log(`${name} ${((performance.now() - start) / 1000).toFixed(2)}`);
  start = performance.now();
};
const session = await openSession(await loadBundle(bundle), graph, [], [{ name: output, shape: [] }]);
lap('load');
/** @type {Record<string, object>} */
const feeds = {};
for (const [name, { shape, file }] of Object.entries(inputs)) {
  feeds[name] = { shape, data: new Float32Array((await readFile(file)).buffer.slice(0)) };
}
const outputs = await session.run(feeds);
lap('run');
await writeFile(out, outputs.get(output));
console.log(`memory ${(process.resourceUsage().maxRSS / 1024).toFixed(0)}`);
await vite.close();
process.exit(0);
