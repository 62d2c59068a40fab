import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { editJson } from '@gen3d/convert';
import { Engine } from '@gen3d/engine';
import { temporaryFolder } from '../../engine/src/temporary-folder.fixture.js';
import { ballPhoto } from './ball-photo.js';

/** The manifest of a bundle of the kind `http`. */
export const httpManifest = (url: string, fields: object = {}) => {
  const terms = { license: 'MIT', source: 'https://example.com/weights' };
  return {
    formatVersion: 1,
    kind: 'http',
    name: 'outside',
    title: 'A model server',
    description: 'Makes models elsewhere.',
    license: { code: terms, weights: terms, trainingData: terms },
    url,
    model: 'trellis2-4b',
    ...fields,
  };
};

/** The folder of a bundle whose models are made at this URL. It is removed after the test. */
export function httpBundle(url: string, fields?: object): string {
  const folder = join(temporaryFolder(), 'outside');
  mkdirSync(folder);
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(httpManifest(url, fields)));
  return folder;
}

let made: Promise<Buffer> | undefined;

/** A GLB as a model server could return it: valid, with a texture, and with extras of its own. */
export function outsideModel(): Promise<Buffer> {
  made ??= (async () => {
    const engine = await Engine.open({ bundle: 'inflate', matte: 'isnet', device: 'cpu', modelDirs: [] });
    const { glb } = await engine.generate(ballPhoto(), { resolution: 32, textureSize: 256 });
    await engine.close();
    const extras = { scanner: 'none' };
    return Buffer.from(editJson(glb, ({ asset }) => void Object.assign(asset, { extras })));
  })();
  return made;
}

/** The `asset` object of a GLB, and its content after the JSON. */
export function partsOfGlb(glb: Buffer) {
  const end = 20 + glb.readUInt32LE(12);
  return { asset: JSON.parse(glb.toString('utf8', 20, end)).asset, rest: glb.subarray(end) };
}
