import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WebIO } from '@gltf-transform/core';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundleOfKind, findBundle } from './bundle/load-bundle.js';
import { Engine } from './engine.js';
import { readGlb } from './gltf/read-glb.fixture.js';
import type { PhotoView } from './gltf/write-glb.js';
import { decode } from './photo/decode.js';
import { type MattingNetwork, matte, openMattingNetwork } from './photo/matte.js';
import { depthMap } from './render/rasterize.js';
import type { View } from './render/view.js';

const root = join(import.meta.dirname, '../../..');
const models = join(root, 'models');

let engine: Engine;
let matting: MattingNetwork;
beforeAll(async () => {
  engine = await Engine.open({ bundle: 'gen3d-base', matte: 'isnet', device: 'cpu', modelDirs: [models] });
  matting = await openMattingNetwork(bundleOfKind(await findBundle('isnet', [models]), 'matte'));
});
afterAll(async () => {
  await engine.close();
  await matting.release();
});

/** The photo's camera as a view whose image is the whole photo. */
function viewOf(
  { cameraPosition: eye, cameraTarget: target, rollRadians = 0, fieldOfView, frame }: PhotoView,
  photo: View['principalPoint'],
): View {
  const [width, height] = photo;
  const back = eye.map((value, axis) => value - target[axis]!);
  const distance = Math.hypot(...back);
  const [sin, cos] = [back[1]! / distance, back[2]! / distance];
  const [sinRoll, cosRoll] = [Math.sin(rollRadians), Math.cos(rollRadians)];
  return {
    width,
    height,
    eye: [eye[0]!, eye[1]!, eye[2]!],
    rotation: [cosRoll, -sinRoll * cos, sinRoll * sin, sinRoll, cosRoll * cos, -cosRoll * sin, 0, sin, cos],
    focalLength: (frame.width * width) / 2 / Math.tan(fieldOfView / 2),
    principalPoint: [(frame.left + frame.width / 2) * width, (frame.top + frame.height / 2) * height],
  };
}

const small = { resolution: 96, maxTriangles: 10_000, textureSize: 256 };

const cropped = (name: string, left: number, top: number, width: number, height: number) => async () =>
  sharp(await readFile(join(root, 'examples/photos', name)))
    .extract({ left, top, width, height })
    .png()
    .toBuffer();
const demo = (name: string) => () => readFile(join(root, 'examples/photos', name));

test('a GLB contains the warnings about its photo', async () => {
  const { glb, stats } = await engine.generate(await cropped('teapot.jpg', 0, 0, 500, 800)(), small);
  const { extras } = (await new WebIO().readBinary(glb)).getRoot().getAsset();
  expect([(extras as { warnings: unknown }).warnings, stats.warnings]).toEqual([['cut_off'], ['cut_off']]);
});

test.each([
  ['a wide photo', demo('teapot.jpg')],
  ['a tall photo of a thin object', demo('painted-chair.jpg')],
  ['a cutout', demo('toy-truck.png')],
  ['a tall cutout with an object at its edge', cropped('toy-truck.png', 0, 0, 500, 705)],
])('the GLB of %s says where the photo shows the model', async (_, read) => {
  const photo = await read();
  const { glb } = await engine.generate(photo, small);
  const { extras } = (await new WebIO().readBinary(glb)).getRoot().getAsset();
  const decoded = await decode(photo);
  const { width, height, data } = (await matte(decoded, matting.predict)).matte;
  const { depth } = depthMap(
    (await readGlb(glb)).mesh,
    viewOf((extras as { photo: PhotoView }).photo, [width, height]),
  );
  let [intersection, union] = [0, 0];
  for (const [i, coverage] of data.entries()) {
    const [inPhoto, inModel] = [coverage >= 128, depth[i]! < Infinity];
    if (inPhoto && inModel) intersection++;
    if (inPhoto || inModel) union++;
  }
  expect(intersection / union).toBeGreaterThan(0.95);
});
