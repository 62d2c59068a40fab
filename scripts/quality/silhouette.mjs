/** Pixels a side of the pictures that are compared. */
const size = 256;

/** Coverage above which a pixel belongs to the object's box: what the engine frames by. */
const boxThreshold = 100;

/**
 * How much of the model's outline, seen from where the photo was taken, is the photo's: intersection over union.
 *
 * A GLB stands upright and does not say where the camera was, but the camera is known but for its place: it looked down by
 * `elevationRadians` with the lens `halfTangent`, and the object's box filled `foregroundRatio` of the frame, in its middle.
 * So the model is turned back and moved until it does.
 *
 * @param mesh `{ positions, indices }`, Y up, the photographed side towards +Z
 * @param photo `{ width, height, data }` RGBA; its alpha is the object
 */
export function silhouetteIou(mesh, photo, { elevationRadians, halfTangent, foregroundRatio }) {
  const expected = outlineOfPhoto(photo, foregroundRatio);
  const drawn = outlineOfMesh(mesh, elevationRadians, halfTangent, foregroundRatio);
  let [both, either] = [0, 0];
  for (let i = 0; i < expected.length; i++) {
    both += expected[i] & drawn[i];
    either += expected[i] | drawn[i];
  }
  return both / either;
}

/** [size·size] of 0 and 1: the alpha inside the square that the engine cuts out of the photo. */
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

function outlineOfMesh({ positions, indices }, elevationRadians, halfTangent, foregroundRatio) {
  const turned = lookDown(positions, elevationRadians);
  const corners = project(turned, halfTangent, foregroundRatio);
  const outline = new Uint8Array(size * size);
  for (let t = 0; t < indices.length; t += 3)
    fillTriangle(outline, corners, indices[t], indices[t + 1], indices[t + 2]);
  return outline;
}

/** Into the frame of a camera that looks down by the angle along -Z. */
function lookDown(positions, elevationRadians) {
  const [sin, cos] = [Math.sin(elevationRadians), Math.cos(elevationRadians)];
  const turned = positions.slice();
  for (let i = 0; i < positions.length; i += 3) {
    turned[i + 1] = cos * positions[i + 1] - sin * positions[i + 2];
    turned[i + 2] = cos * positions[i + 2] + sin * positions[i + 1];
  }
  return turned;
}

/** Pixels [2·V] of the picture by the camera before which the object's box fills its share of the frame, in the middle. */
function project(positions, halfTangent, foregroundRatio) {
  let [x, y, distance] = [0, 0, 4 / halfTangent];
  let longest = 0;
  for (const value of positions) longest = Math.max(longest, Math.abs(value));
  distance *= longest;
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
    // Damped: the near side grows faster than the middle as the camera comes closer.
    distance = Math.max(1.05 * longest, distance * (Math.max(maxU - minU, maxV - minV) / 2 / foregroundRatio) ** 0.7);
  }
  return projected;
}

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
