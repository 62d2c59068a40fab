import { cp, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, expect, test } from 'vitest';
import { BundleError, MissingBundleError } from '../base/errors.js';
import { temporaryFolder } from '../temporary-folder.fixture.js';
import { writeBallBundle } from './bundle.fixture.js';
import { bundleFolders, bundleOfKind, findBundle, installedBundles, loadBundle, verifyBundle } from './load-bundle.js';

const models = fileURLToPath(new URL('../../../../models', import.meta.url));

let folder: string;
let copy: string;
beforeEach(async () => {
  folder = temporaryFolder();
  copy = join(folder, 'gen3d-base');
  await cp(join(models, 'gen3d-base'), copy, { recursive: true });
});

async function editManifest(edit: (manifest: Record<string, unknown>) => void): Promise<void> {
  const path = join(copy, 'manifest.json');
  const manifest = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
  edit(manifest);
  await writeFile(path, JSON.stringify(manifest));
}

test.each(['gen3d-base', 'isnet'])(
  'the shipped bundle %s is complete and has the checksums of its manifest',
  async (name) => {
    const bundle = await findBundle(name, [models]);
    expect(bundle.manifest.name).toBe(name);
    await verifyBundle(bundle);
  },
);

test('the first folder with the bundle is used, and missing folders are skipped', async () => {
  const bundle = await findBundle('gen3d-base', [join(folder, 'missing'), folder, models]);
  expect(bundle.directory).toBe(copy);
});

test('the error for an unknown bundle names the searched folders and the bundles there', async () => {
  const problem = await findBundle('unknown', [models]).catch((error: Error) => error.message);
  expect(problem).toContain(`No bundle called unknown in ${models}: there are gen3d-`);
  expect(problem).not.toContain('training');
});

test('a path is the folder of a bundle, wherever it is', async () => {
  expect((await findBundle(copy, [])).manifest.name).toBe('gen3d-base');
  await expect(findBundle('./gen3d-base', [models])).rejects.toThrow(/manifest\.json cannot be read/);
});

test('a value that is neither a name nor a path is refused', async () => {
  await expect(findBundle('Gen3D base', [models])).rejects.toThrow(BundleError);
});

test('a folder whose name differs from its bundle is refused', async () => {
  await rename(copy, join(folder, 'mine'));
  await expect(findBundle('mine', [folder])).rejects.toThrow(/mine holds the bundle gen3d-base: rename the folder/);
});

test('the error for a file of the wrong size has both sizes', async () => {
  const { size } = await stat(join(copy, 'encoder.onnx'));
  await truncate(join(copy, 'encoder.onnx'), 1000);
  await expect(loadBundle(copy)).rejects.toThrow(`encoder.onnx has 1000 bytes, its manifest says ${size}`);
});

test('the error for a missing file names it', async () => {
  await rm(join(copy, 'encoder.onnx'));
  await expect(loadBundle(copy)).rejects.toThrow(/encoder\.onnx is missing/);
});

test('one changed byte passes loading and is found by verifyBundle', async () => {
  const path = join(copy, 'encoder.onnx');
  const bytes = await readFile(path);
  bytes[5000] = bytes[5000]! ^ 1;
  await writeFile(path, bytes);
  const bundle = await loadBundle(copy);
  await expect(verifyBundle(bundle)).rejects.toThrow(/encoder\.onnx is not the file its manifest describes/);
});

test.each<[string, (manifest: Record<string, unknown>) => void, RegExp]>([
  ['an invalid field', (one) => Object.assign(one.input as object, { channels: 5 }), /input\.channels/],
  [
    'control characters in a text for people',
    (one) => Object.assign(one, { title: 'TripoSR\u001B]0;other title\u0007' }),
    /one line without control characters\s+→ at title/,
  ],
  [
    'a graph that is not among its files',
    (one) => Object.assign(one, { graph: 'x.onnx' }),
    /"x\.onnx" is not in files/,
  ],
  [
    'a file outside its folder',
    (one) => Object.assign(one, { graph: '../x.onnx' }),
    /a plain file name inside the bundle/,
  ],
  [
    'columns without a camera',
    (one) => Reflect.deleteProperty(one, 'camera'),
    /is missing, which columns need.*at camera/s,
  ],
])('a manifest with %s is refused, and the error names the field', async (_, change, problem) => {
  await editManifest(change);
  await expect(loadBundle(copy)).rejects.toThrow(problem);
});

test('a manifest with up and front on one axis is refused', async () => {
  const directory = await writeBallBundle(folder, 'ball', { kind: 'planes', decoder: { up: '+z', front: '-z' } });
  await expect(loadBundle(directory)).rejects.toThrow(/same axis as up \(\+z\)\s+→ at decoder\.front/);
});

test('a bundle of another kind is refused', async () => {
  const bundle = await loadBundle(copy);
  expect(() => bundleOfKind(bundle, 'matte')).toThrow(
    'gen3d-base is a reconstruction bundle, and a matte bundle is needed',
  );
});

/** Writes a package, whose folder is not called like its bundle, which is "ball". */
async function writePackage(): Promise<string> {
  await writeBallBundle(folder, 'ball', { kind: 'planes' });
  const directory = join(folder, 'model-ball');
  await rename(join(folder, 'ball'), directory);
  return directory;
}

test('a searched folder that is itself a bundle has the name in its manifest', async () => {
  const modelPackage = await writePackage();
  expect(await bundleFolders([join(folder, 'missing'), modelPackage])).toEqual(new Map([['ball', modelPackage]]));
  expect(await findBundle('ball', [modelPackage])).toMatchObject({ directory: modelPackage });
});

test('a package with a damaged manifest is listed with the reason', async () => {
  const modelPackage = await writePackage();
  await writeFile(join(modelPackage, 'manifest.json'), '{');
  expect(await installedBundles([modelPackage])).toEqual([
    { name: 'ball', directory: modelPackage, problem: expect.stringContaining('manifest.json is not valid JSON') },
  ]);
});

test('the error for a missing bundle of gen3d names the package that has it', async () => {
  const finding = findBundle('isnet', [folder]);
  await expect(finding).rejects.toThrow('The bundle isnet is not installed. `npm install @gen3d/model-isnet` adds it');
  await expect(finding).rejects.toThrow(MissingBundleError);
});
