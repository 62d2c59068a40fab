import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import validator from 'gltf-validator';
import { expect, test } from 'vitest';
import { describeEngine, engineOptions, farthestFrom, gray, models, modelWithoutColors } from './engine.fixture.js';
import { Engine } from './engine.js';
import { readGlb } from './gltf/read-glb.fixture.js';
import { connectedParts } from './surface/clean.js';
import { welded } from './surface/topology.fixture.js';
import { nonManifoldVertices } from './surface/topology.js';
import { temporaryFolder } from './temporary-folder.fixture.js';

describeEngine('gen3d-base', {});

test('a real photograph with a background becomes a closed, valid model', async () => {
  const engine = await Engine.open({ ...engineOptions, bundle: 'gen3d-base' });
  const coffee = await readFile(join(import.meta.dirname, 'photo/fixtures/coffee.jpg'));
  const { glb } = await engine.generate(coffee, { resolution: 96, textureSize: 512 });
  await engine.close();
  const { issues } = await validator.validateBytes(glb);
  expect(issues.messages).toEqual([]);
  expect(nonManifoldVertices(welded((await readGlb(glb)).mesh))).toHaveLength(0);
});

test('a chair whose rear leg the network leaves loose becomes one part', async () => {
  const engine = await Engine.open({ ...engineOptions, bundle: 'gen3d-base' });
  const chair = await readFile(join(import.meta.dirname, '../../../examples/photos/painted-chair.jpg'));
  const { glb } = await engine.generate(chair, { textureSize: 512 });
  await engine.close();
  const mesh = welded((await readGlb(glb)).mesh);
  expect(nonManifoldVertices(mesh)).toHaveLength(0);
  expect(connectedParts(mesh).count).toBe(1);
});

test('a bundle without colors takes those of the far side from gen3d-base, which the GLB then names, too', async () => {
  const folder = temporaryFolder();
  const { bundles, texture } = await modelWithoutColors(folder, [folder, models]);
  expect(bundles).toEqual(['shape', 'gen3d-base']);
  expect(farthestFrom(gray, texture)).toBeGreaterThan(0);
  expect(farthestFrom(gray, texture)).toBeLessThan(60);
});
