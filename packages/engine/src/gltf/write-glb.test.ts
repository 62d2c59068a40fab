import { NodeIO } from '@gltf-transform/core';
import { validateBytes } from 'gltf-validator';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import type { TexturedMesh } from '../base/mesh.js';
import { box, sphere } from '../render/shapes.fixture.js';
import { writeGlb } from './write-glb.js';

const metadata = {
  generator: 'gen3d 1.2.3',
  bundles: [{ name: 'gen3d-base', license: 'MIT' }],
};
const image = sharp({ create: { width: 64, height: 64, channels: 3, background: '#c86432' } });
const jpeg = { bytes: new Uint8Array(await image.clone().jpeg().toBuffer()), mimeType: 'image/jpeg' } as const;

const read = (glb: Uint8Array) => new NodeIO().readBinary(glb);
const primitiveOf = async (glb: Uint8Array) => (await read(glb)).getRoot().listMeshes()[0]!.listPrimitives()[0]!;

/** A crumpled mesh with slivers, repeated corners, and normals that are zero or not normalized. */
function noisy(): TexturedMesh {
  const ball = sphere(0.5, 24);
  const shake = (i: number) => 0.02 * Math.sin(12.9898 * i) * Math.cos(78.233 * i);
  return {
    positions: ball.positions.map((value, i) => value + shake(i)),
    normals: ball.normals.map((value, i) => (i < 30 ? 0 : 3 * value)),
    uvs: ball.uvs,
    indices: Uint32Array.from([...ball.indices, 5, 5, 9, 7, 8, 7]),
  };
}

describe('the GLB', () => {
  test.each([
    ['a sphere', sphere(0.5, 32)],
    ['a box', box(0.3)],
    ['a noisy mesh', noisy()],
    ['a mesh too large for short indices', sphere(0.5, 200)],
  ])('of %s passes the Khronos validator without an error, warning, information or hint', async (_, mesh) => {
    const report = await validateBytes(await writeGlb(mesh, jpeg, metadata));
    expect(report.issues.messages).toEqual([]);
    expect(report.info.totalTriangleCount).toBeGreaterThan(0);
  });

  test('has one mesh of one primitive with one single-sided, non-metallic material', async () => {
    const root = (await read(await writeGlb(sphere(0.5, 8), jpeg, metadata))).getRoot();
    expect(
      [root.listNodes(), root.listMeshes(), root.listMaterials(), root.listTextures()].map((l) => l.length),
    ).toEqual([1, 1, 1, 1]);
    expect(root.listMeshes()[0]!.listPrimitives()).toHaveLength(1);
    const material = root.listMaterials()[0]!;
    expect(material.getMetallicFactor()).toBe(0);
    expect(material.getDoubleSided()).toBe(false);
    expect(material.getBaseColorTexture()!.getImage()).toEqual(jpeg.bytes);
  });

  test('has the unchanged geometry', async () => {
    const mesh = sphere(0.5, 12);
    const primitive = await primitiveOf(await writeGlb(mesh, jpeg, metadata));
    expect(primitive.getAttribute('POSITION')!.getArray()).toEqual(mesh.positions);
    expect(primitive.getAttribute('TEXCOORD_0')!.getArray()).toEqual(mesh.uvs);
    expect([...primitive.getIndices()!.getArray()!]).toEqual([...mesh.indices]);
  });

  test('uses short indices up to 65,535 vertices and long ones above', async () => {
    const indexType = async (mesh: TexturedMesh) =>
      (await primitiveOf(await writeGlb(mesh, jpeg, metadata))).getIndices()!;
    expect((await indexType(sphere(0.5, 32))).getArray()).toBeInstanceOf(Uint16Array);
    expect((await indexType(sphere(0.5, 200))).getArray()).toBeInstanceOf(Uint32Array);
  });

  test('names the program and the bundles that made it, and their terms', async () => {
    const glb = await writeGlb(box(0.3), jpeg, metadata);
    expect((await read(glb)).getRoot().getAsset()).toMatchObject({
      extras: {
        digitalSourceType: 'http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia',
        bundles: [{ name: 'gen3d-base', license: 'MIT' }],
      },
    });
    // glTF-Transform overwrites the generator when it reads a file, so check the bytes.
    expect(Buffer.from(glb).toString('latin1')).toContain('"generator":"gen3d 1.2.3"');
  });

  test('of 40,000 triangles takes less than 1.5 MB besides its texture', async () => {
    const mesh = sphere(0.5, 101, 200);
    expect(mesh.indices.length / 3).toBe(40_000);
    const glb = await writeGlb(mesh, jpeg, metadata);
    expect(glb.byteLength - jpeg.bytes.byteLength).toBeLessThan(1_500_000);
  });

  test('of a mesh without triangles is refused with inference_failed', async () => {
    const empty = { ...box(0.3), indices: new Uint32Array() };
    await expect(writeGlb(empty, jpeg, metadata)).rejects.toMatchObject({ code: 'inference_failed' });
    const onlyDegenerate = { ...box(0.3), indices: Uint32Array.of(1, 1, 2) };
    await expect(writeGlb(onlyDegenerate, jpeg, metadata)).rejects.toMatchObject({ code: 'inference_failed' });
  });

  test('of a mesh with NaN is refused with inference_failed', async () => {
    const mesh = box(0.3);
    mesh.positions[4] = Number.NaN;
    await expect(writeGlb(mesh, jpeg, metadata)).rejects.toMatchObject({ code: 'inference_failed' });
  });
});
