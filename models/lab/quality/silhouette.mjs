/** Width and height in pixels of the compared outlines. */
const size = 256;

/** Alpha above which a pixel belongs to the object's bounding box. The engine frames by the same threshold. */
const boxThreshold = 100;

/** @typedef {import('./sample-surface.mjs').Triangles} Triangles */
/** @typedef {import('./sample-surface.mjs').RgbaImage} RgbaImage */
/** @typedef {{ halfTangent: number, foregroundRatio: number }} Lens */
/**
 * How the camera was turned: it looked down by the elevation, and the object is turned counterclockwise in the photo.
 *
 * @typedef {{ elevationRadians: number, rollRadians: number }} Attitude
 */

/**
 * Compares the model's outline, seen from the camera of the photo, with the photo's: intersection over union.
 *
 * A GLB is upright and does not tell where the camera was. All but the camera's position is known, though: its attitude
 * and lens, and the object's box filled `foregroundRatio` of the frame, centered. The model is rotated back and moved
 * until it fills the same frame.
 *
 * @param {Triangles} mesh Y up, the photographed side towards +Z
 * @param {RgbaImage} photo its alpha is the object
 * @param {Lens & Attitude} camera
 */
export function silhouetteIou(mesh, photo, camera) {
  const expected = outlineOfPhoto(photo, camera.foregroundRatio);
  const rendered = outlineOfMesh(mesh, camera);
  let [intersection, union] = [0, 0];
  for (let i = 0; i < expected.length; i++) {
    intersection += expected[i] & rendered[i];
    union += expected[i] | rendered[i];
  }
  return intersection / union;
}

/**
 * The object within the square that the engine crops the photo to.
 *
 * @param {RgbaImage} photo
 * @param {number} foregroundRatio
 * @returns [size·size] of 0 and 1
 */
function outlineOfPhoto({ width, height, data }, foregroundRatio) {
  let [left, top, right, bottom] = [width, height, 0, 0];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (data[4 * (y * width + x) + 3] <= boxThreshold) continue;
      left = Math.min(left, x);
      right = Math.max(right, x + 1);
      top = Math.min(top, y);
      bottom = y + 1;
    }
  }
  const side = Math.max(right - left, bottom - top) / foregroundRatio;
  const outline = new Uint8Array(size * size);
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      const x = Math.floor((left + right - side) / 2 + ((column + 0.5) * side) / size);
      const y = Math.floor((top + bottom - side) / 2 + ((row + 0.5) * side) / size);
      const inside = x >= 0 && y >= 0 && x < width && y < height;
      if (inside && data[4 * (y * width + x) + 3] >= 128) outline[row * size + column] = 1;
    }
  }
  return outline;
}

/**
 * @param {Triangles} mesh
 * @param {Lens & Attitude} camera
 * @returns [size·size] of 0 and 1
 */
function outlineOfMesh({ positions, indices }, camera) {
  const corners = project(seenBy(camera, positions), camera);
  const outline = new Uint8Array(size * size);
  for (let t = 0; t < indices.length; t += 3)
    fillTriangle(outline, corners, indices[t], indices[t + 1], indices[t + 2]);
  return outline;
}

/**
 * Rotates positions [3·V] into the frame of a camera that looks along -Z.
 *
 * @param {Attitude} camera
 * @param {Float32Array} positions
 */
function seenBy({ elevationRadians, rollRadians }, positions) {
  const [sin, cos] = [Math.sin(elevationRadians), Math.cos(elevationRadians)];
  const [sinRoll, cosRoll] = [Math.sin(rollRadians), Math.cos(rollRadians)];
  const rotated = positions.slice();
  for (let i = 0; i < positions.length; i += 3) {
    const [x, y] = [positions[i], cos * positions[i + 1] - sin * positions[i + 2]];
    rotated[i] = cosRoll * x - sinRoll * y;
    rotated[i + 1] = sinRoll * x + cosRoll * y;
    rotated[i + 2] = cos * positions[i + 2] + sin * positions[i + 1];
  }
  return rotated;
}

/**
 * Moves the camera until the object's box fills its share of the frame, centered.
 *
 * @param {Float32Array} positions [3·V]
 * @param {Lens} lens
 * @returns pixels [2·V]
 */
function project(positions, { halfTangent, foregroundRatio }) {
  let radius = 0;
  for (const value of positions) radius = Math.max(radius, Math.abs(value));
  let [x, y, distance] = [0, 0, (4 / halfTangent) * radius];
  const projected = new Float64Array((positions.length / 3) * 2);
  for (let round = 0; round < 60; round++) {
    let [minU, minV, maxU, maxV] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = 0, p = 0; p < positions.length; i += 2, p += 3) {
      const scale = 1 / ((distance - positions[p + 2]) * halfTangent);
      const u = (positions[p] - x) * scale;
      const v = (positions[p + 1] - y) * scale;
      projected[i] = ((u + 1) * size) / 2;
      projected[i + 1] = ((1 - v) * size) / 2;
      minU = Math.min(minU, u);
      maxU = Math.max(maxU, u);
      minV = Math.min(minV, v);
      maxV = Math.max(maxV, v);
    }
    x += ((minU + maxU) / 2) * distance * halfTangent;
    y += ((minV + maxV) / 2) * distance * halfTangent;
    // Damped, because the near side grows faster than the middle as the camera approaches.
    distance = Math.max(1.05 * radius, distance * (Math.max(maxU - minU, maxV - minV) / 2 / foregroundRatio) ** 0.7);
  }
  return projected;
}

/**
 * @param {Uint8Array} outline [size·size]; set to 1 inside the triangle
 * @param {Float64Array} corners [2·V]
 * @param {number} a vertex
 * @param {number} b vertex
 * @param {number} c vertex
 */
function fillTriangle(outline, corners, a, b, c) {
  const [ax, ay, bx, by, cx, cy] = [a, b, c].flatMap((vertex) => [corners[2 * vertex], corners[2 * vertex + 1]]);
  const area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay);
  if (area === 0) return;
  const facing = Math.sign(area);
  const top = Math.max(0, Math.ceil(Math.min(ay, by, cy) - 0.5));
  const bottom = Math.min(size - 1, Math.floor(Math.max(ay, by, cy) - 0.5));
  const left = Math.max(0, Math.ceil(Math.min(ax, bx, cx) - 0.5));
  const right = Math.min(size - 1, Math.floor(Math.max(ax, bx, cx) - 0.5));
  for (let row = top; row <= bottom; row++) {
    for (let column = left; column <= right; column++) {
      const [x, y] = [column + 0.5, row + 0.5];
      const ab = facing * ((bx - ax) * (y - ay) - (x - ax) * (by - ay));
      const bc = facing * ((cx - bx) * (y - by) - (x - bx) * (cy - by));
      const ca = facing * ((ax - cx) * (y - cy) - (x - cx) * (ay - cy));
      if (ab >= 0 && bc >= 0 && ca >= 0) outline[row * size + column] = 1;
    }
  }
}
