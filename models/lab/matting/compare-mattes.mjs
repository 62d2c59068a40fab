/** Longer side of an object in the engine's largest frame, in pixels, the unit of distances at edges. */
const framedSide = 870;

/** The band around the true edge in which errors count, in pixels of the frame. */
const bandWidth = 4;

/** @typedef {{ width: number, height: number, data: Uint8Array }} Matte */
/**
 * `iou`: intersection over union of the halves above 50 %. `edgeError`: mean absolute error of the coverage, 0..1, near
 * the true edge.
 *
 * @typedef {{ iou: number, edgeError: number }} MatteFigures
 */

/**
 * @param {Matte} found
 * @param {Matte} truth of the same size
 * @returns {MatteFigures}
 */
export function compareMattes(found, truth) {
  const { width, height } = truth;
  const inside = truth.data.map((value) => (value >= 128 ? 1 : 0));
  let [left, top, right, bottom] = [width, height, 0, 0];
  let [intersection, union] = [0, 0];
  for (let at = 0; at < inside.length; at++) {
    const covered = found.data[at] >= 128 ? 1 : 0;
    intersection += covered & inside[at];
    union += covered | inside[at];
    if (inside[at] === 0) continue;
    const [x, y] = [at % width, Math.floor(at / width)];
    left = Math.min(left, x);
    right = Math.max(right, x + 1);
    top = Math.min(top, y);
    bottom = y + 1;
  }
  const scale = Math.max(1, Math.max(right - left, bottom - top) / framedSide);
  const band = nearEdge(inside, width, height, Math.round(bandWidth * scale));
  let [error, count] = [0, 0];
  for (let at = 0; at < band.length; at++) {
    if (band[at] === 0) continue;
    error += Math.abs(found.data[at] - truth.data[at]) / 255;
    count++;
  }
  return { iou: intersection / union, edgeError: error / count };
}

/**
 * The pixels that have both values in the square of `radius` around them.
 *
 * @param {Uint8Array} mask of 0 and 1
 * @param {number} width
 * @param {number} height
 * @param {number} radius
 */
function nearEdge(mask, width, height, radius) {
  // Sums over all pixels above and to the left.
  const sums = new Uint32Array((width + 1) * (height + 1));
  for (let y = 0; y < height; y++) {
    let row = 0;
    for (let x = 0; x < width; x++) {
      row += mask[y * width + x];
      sums[(y + 1) * (width + 1) + x + 1] = sums[y * (width + 1) + x + 1] + row;
    }
  }
  return mask.map((_, at) => {
    const [x, y] = [at % width, Math.floor(at / width)];
    const [left, right] = [Math.max(0, x - radius), Math.min(width, x + radius + 1)];
    const [top, bottom] = [Math.max(0, y - radius) * (width + 1), Math.min(height, y + radius + 1) * (width + 1)];
    const sum = sums[bottom + right] - sums[bottom + left] - sums[top + right] + sums[top + left];
    const area = ((right - left) * (bottom - top)) / (width + 1);
    return sum > 0 && sum < area ? 1 : 0;
  });
}
