// A model server returns what TRELLIS.2 returns by default: 5.5 million triangles, 180 MB.
import { readdir, readFile } from 'node:fs/promises';
import { readModel } from '@gen3d/convert';
import { expect, test } from 'vitest';
import { ballPhoto } from './ball-photo.js';
import { createJob, imageJob, readJob, site, startServer, until } from './kit.js';
import { httpBundle } from './model-server-kit.js';

const rows = 1_658;
const mebibyte = 1024 ** 2;

/** A sphere with waves, as a GLB with normals, texture coordinates, and unused bytes up to the size. */
function largeModel(bytes: number): Buffer {
  const vertices = (rows + 1) ** 2;
  const positions = new Float32Array(3 * vertices);
  const normals = new Float32Array(3 * vertices);
  const uvs = new Float32Array(2 * vertices);
  const indices = new Uint32Array(6 * rows ** 2);
  for (let vertex = 0; vertex < vertices; vertex++) {
    const [row, column] = [Math.floor(vertex / (rows + 1)), vertex % (rows + 1)];
    const [a, b] = [(Math.PI * row) / rows, (2 * Math.PI * (column % rows)) / rows];
    const normal = [
      row % rows === 0 ? 0 : Math.sin(a) * Math.cos(b),
      Math.cos(a),
      row % rows === 0 ? 0 : Math.sin(a) * Math.sin(b),
    ];
    const length = Math.hypot(...normal);
    const radius = 0.5 + 0.01 * Math.sin(20 * a) * Math.cos(30 * b);
    for (let axis = 0; axis < 3; axis++) {
      normals[3 * vertex + axis] = normal[axis]! / length;
      positions[3 * vertex + axis] = (normal[axis]! / length) * radius;
    }
    uvs.set([column / rows, row / rows], 2 * vertex);
  }
  for (let at = 0, row = 0; row < rows; row++) {
    for (let column = 0; column < rows; column++, at += 6) {
      const [first, below] = [row * (rows + 1) + column, (row + 1) * (rows + 1) + column];
      indices.set([first, first + 1, below, below, first + 1, below + 1], at);
    }
  }
  const arrays = [indices, positions, normals, uvs];
  const used = arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const [min, max] = [Math.min, Math.max].map((choose) =>
    [0, 1, 2].map((axis) =>
      positions.reduce((end, value, at) => (at % 3 === axis ? choose(end, value) : end), positions[axis]!),
    ),
  );
  const bufferViews = arrays.map(({ byteLength }, index) => {
    const byteOffset = arrays.slice(0, index).reduce((sum, before) => sum + before.byteLength, 0);
    return { buffer: 0, byteOffset, byteLength };
  });
  const accessor = (bufferView: number, type: string, count: number, bounds = {}) => ({
    bufferView,
    type,
    count,
    componentType: bufferView === 0 ? 5125 : 5126,
    ...bounds,
  });
  const binaryBytes = Math.max(used, bytes);
  const json = Buffer.from(
    JSON.stringify({
      asset: { version: '2.0' },
      scene: 0,
      scenes: [{ nodes: [0] }],
      nodes: [{ mesh: 0 }],
      meshes: [{ primitives: [{ attributes: { POSITION: 1, NORMAL: 2, TEXCOORD_0: 3 }, indices: 0 }] }],
      buffers: [{ byteLength: binaryBytes }],
      bufferViews,
      accessors: [
        accessor(0, 'SCALAR', indices.length),
        accessor(1, 'VEC3', vertices, { min, max }),
        accessor(2, 'VEC3', vertices),
        accessor(3, 'VEC2', vertices),
      ],
    }),
  );
  const chunk = Buffer.concat([json, Buffer.alloc(-json.length & 3, ' ')]);
  const header = Buffer.alloc(20);
  header.write('glTF');
  header.writeUInt32LE(2, 4);
  header.writeUInt32LE(28 + chunk.length + binaryBytes, 8);
  header.writeUInt32LE(chunk.length, 12);
  header.write('JSON', 16);
  const binaryHeader = Buffer.alloc(8);
  binaryHeader.writeUInt32LE(binaryBytes, 0);
  binaryHeader.write('BIN\0', 4, 'latin1');
  const content = arrays.map(({ buffer }) => Buffer.from(buffer));
  return Buffer.concat([header, chunk, binaryHeader, ...content, Buffer.alloc(binaryBytes - used)]);
}

/** The peak memory of a running process with this text in its command line. */
async function peakBytes(text: string): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const peaks = await Promise.all(
    pids.map(async (pid) => {
      const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
      if (!(await read('cmdline')).includes(text)) return 0;
      return 1_024 * Number(/VmHWM:\s+(\d+)/.exec(await read('status'))?.[1] ?? 0);
    }),
  );
  return Math.max(...peaks);
}

test.runIf(process.platform === 'linux')(
  'a model of 180 MB is simplified within the memory of a job, and no lease is lost meanwhile',
  { timeout: 30 * 60_000 },
  async () => {
    const model = largeModel(180e6);
    let photos = 0;
    const url = await site(({ headers }, response) => {
      if (Number(headers['content-length']) < 1_000) return response.writeHead(400).end();
      photos++;
      response.end(model);
    });
    // Far shorter than the model takes.
    const { call } = await startServer({
      workers: 1,
      bundle: httpBundle(url),
      leaseSeconds: 5,
      inferenceLimitSeconds: 1_500,
    });
    const id = await createJob(call, imageJob(ballPhoto()));
    let peak = 0;
    const timer = setInterval(async () => {
      peak = Math.max(peak, await peakBytes('model-reader-process'));
    }, 500);
    const task = await until(async () => {
      const read = await readJob(call, id);
      return read.finished_at !== null && read;
    }, 25 * 60_000).finally(() => clearInterval(timer));
    expect(task).toMatchObject({ status: 'SUCCEEDED' });
    expect(peak).toBeGreaterThan(180e6);
    expect(peak).toBeLessThan(1_300 * mebibyte);
    const glb = new Uint8Array(await (await fetch(task.model_urls!.glb)).arrayBuffer());
    const { parts } = await readModel(glb);
    expect(parts.reduce((sum, { indices }) => sum + indices.length / 3, 0)).toBeLessThanOrEqual(40_000);
    // After a lost lease, another attempt would have sent the photo again.
    expect(photos).toBe(1);
  },
);
