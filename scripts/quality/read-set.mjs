import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const bytesPerPoint = 10;

/**
 * The objects of a set, in the folder's order.
 *
 * @param {string} folder as make-set.mjs leaves it; docs/quality.md describes the files
 * @returns `{ id, kind, seen, photos, halfExtent, views, truth() }` each: `seen` says whether training makes things of that
 *          kind, `photos` are paths, `truth()` reads `{ positions: Float32Array [3·N] in -1..1, colors: Uint8Array [3·N] sRGB,
 *          seen: Uint8Array [N], bit 0 and 1: on the first, the second photo }`
 */
export function readSet(folder) {
  const { kinds, objects } = JSON.parse(readFileSync(join(folder, 'objects.json'), 'utf8'));
  const made = JSON.parse(readFileSync(join(folder, 'views.json'), 'utf8'));
  return objects
    .filter(({ id }) => made[id] && existsSync(join(folder, 'points', `${id}.points.gz`)))
    .map(({ id, kind }) => ({
      id,
      kind,
      seen: kinds[kind].seen,
      photos: made[id].views.map((_, view) => join(folder, 'photos', `${id}-${view + 1}.webp`)),
      ...made[id],
      truth: () => readPoints(join(folder, 'points', `${id}.points.gz`)),
    }));
}

function readPoints(path) {
  const bytes = gunzipSync(readFileSync(path));
  const count = bytes.length / bytesPerPoint;
  const positions = new Float32Array(3 * count);
  const place = [0, 0, 0];
  for (let i = 0; i < 3 * count; i++) {
    // Sums of 16-bit steps wrap around, as they did when the steps were taken.
    place[i % 3] = ((place[i % 3] + bytes.readInt16LE(2 * i)) << 16) >> 16;
    positions[i] = place[i % 3] / 32767;
  }
  return {
    positions,
    colors: bytes.subarray(6 * count, 9 * count),
    seen: bytes.subarray(9 * count),
  };
}
