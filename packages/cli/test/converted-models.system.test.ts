// The demo photos' models in every format, opened by the programs that people use: PrusaSlicer, three.js, Blender.
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { parse } from 'node:path';
import { fileURLToPath } from 'node:url';
import { problemOfGlb } from '@gen3d/engine';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openThree } from '../../../scripts/images/three-page.mjs';
import { demoPhotos } from '../../../scripts/repository.mjs';
import { startThrowawayServer, type ThrowawayServer } from '../../../scripts/throwaway-server.mjs';
import { testFolder } from './run.js';

const { path, gen3d, run } = testFolder();
const models = demoPhotos().map((photo) => parse(photo).name);
const atEnd: (() => unknown)[] = [];
let server: ThrowawayServer;
beforeAll(async () => {
  server = await startThrowawayServer((end) => atEnd.push(end));
  const { code, stderr } = await server.gen3d(['create', ...demoPhotos(), '--wait', '-o', path()]);
  if (code !== 0) throw new Error(stderr);
  await server.close();
}, 600_000);
afterAll(async () => {
  for (const end of atEnd.reverse()) await end();
});

async function convert(...args: string[]): Promise<string> {
  const { code, stderr } = await gen3d(['convert', ...args]);
  if (code !== 0) throw new Error(stderr);
  return stderr;
}

const slicer = spawnSync('prusa-slicer', ['--help']).status === 0 ? '' : ' (skipped: prusa-slicer not installed)';
test.skipIf(slicer).each([['stl'], ['3mf']])(
  `PrusaSlicer reads the %s of all demo models in millimeters, closed and without repairs${slicer}`,
  async (format) => {
    const files: string[] = [];
    for (const [suffix, ...options] of [['plain'], ['foot', '--base', 'flat'], ['coarse', '--triangles', '2000']]) {
      for (const name of models) {
        const file = path(`${name}-${suffix}.${format}`);
        expect(await convert(`${name}.glb`, file, '--size', '80mm', ...options)).toContain('Print check: closed, ');
        files.push(file);
      }
    }
    const { stdout } = await run('prusa-slicer', ['--info', ...files]);
    const reports = stdout.split(/^\[(?=.*\.(?:stl|3mf)\]$)/m).slice(1);
    expect(reports.length).toBe(files.length);
    for (const report of reports) {
      const sides = [...report.matchAll(/^size_. = (.+)$/gm)].map(([, side]) => Number(side));
      expect(Math.max(...sides)).toBeCloseTo(80, 3);
      expect(report).toContain('manifold = yes');
      expect(report).not.toMatch(/repaired|open_edges|facets_reversed|backwards_edges|degenerate/);
    }
  },
  600_000,
);

const forWeb = [
  ['--triangles', '2000'],
  ['--texture', '256', '--size', '0.3m'],
  ['--triangles', '2000', '--texture', '256', '--compress', 'meshopt', '--texture-format', 'webp'],
  ['--triangles', '2000', '--compress', 'draco'],
];

test("Khronos's validator and three.js open all demo models within budgets", async () => {
  const three = await openThree((end) => atEnd.push(end), path());
  for (const name of models) {
    const original = await three.load(`${name}.glb`);
    for (const options of forWeb) {
      await convert(`${name}.glb`, 'web.glb', '--force', ...options);
      expect(await problemOfGlb(await readFile(path('web.glb')))).toBeUndefined();
      const { triangles, texture, size } = await three.load('web.glb');
      if (options.includes('--triangles')) expect(triangles).toBeLessThanOrEqual(2000);
      else expect(triangles).toBe(original.triangles);
      expect(texture).toBe(options.includes('--texture') ? 256 : original.texture);
      const longest = options.includes('--size') ? 0.3 : 1;
      expect(Math.abs(Math.max(...size) - longest)).toBeLessThan(0.005 * longest);
    }
  }
}, 600_000);

const check = ['--background', '--factory-startup', '--python-exit-code', '1', '--python-expr', 'import numpy'];
const blender = spawnSync('blender', check).status === 0 ? '' : ' (skipped: blender with numpy not installed)';
test.skipIf(blender)(
  `Blender opens GLB, OBJ and STL upright and in the right size${blender}`,
  async () => {
    const files = ['small.glb', 'up-z.obj', 'upright.stl'];
    const [name = ''] = models;
    await convert(`${name}.glb`, 'small.glb', '--triangles', '2000', '--texture', '256', '--size', '0.3m');
    await convert(`${name}.glb`, 'up-z.obj', '--up', 'z');
    for (const file of files.slice(2)) await convert(`${name}.glb`, file);
    const script = fileURLToPath(new URL('open-in-blender.py', import.meta.url));
    const args = ['--background', '--factory-startup', '--python-exit-code', '1', '--python', script, '--'];
    const { stdout, stderr } = await run('blender', [...args, ...files]);
    const [, results] = /^RESULTS (.*)$/m.exec(stdout) ?? [];
    if (!results) throw new Error(stdout + stderr);
    const [glb, obj, stl] = JSON.parse(results);
    expect(glb).toMatchObject({ triangles: 2000, images: [[256, 256]] });
    expect(Math.max(...glb.size)).toBeCloseTo(0.3, 2);
    for (const [opened, scale] of [
      [obj, 1],
      [stl, 100],
    ]) {
      expect(Math.max(...opened.size)).toBeCloseTo(scale, 2);
      // The same side is the height in all files.
      expect(opened.size[2] / scale).toBeCloseTo(glb.size[2] / 0.3, 1);
    }
  },
  300_000,
);
