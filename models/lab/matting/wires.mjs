/**
 * A shape made of balls: `balls` has x, y, z and radius of each, with Y up and the floor at y = 0, and `colors` one
 * color in 0..1 per ball.
 *
 * @typedef {{ balls: number[][], colors: number[][] }} Shape
 * @typedef {() => number} Random in 0..1
 */

/** Objects with thin parts and holes, each for the parameters that `random` draws. */
/** @type {Record<string, (random: Random) => Shape>} */
export const wireObjects = {
  basket(random) {
    const shape = { balls: [], colors: [] };
    const [rings, posts, radius] = [4, 14 + Math.floor(8 * random()), 0.008 + 0.006 * random()];
    const color = paint(random);
    for (let ring = 0; ring < rings; ring++) {
      circle(shape, [0, 0.05 + (0.55 * ring) / (rings - 1), 0], 0.4 + (0.12 * ring) / rings, radius, color);
    }
    for (let post = 0; post < posts; post++) {
      const angle = (2 * Math.PI * post) / posts;
      const at = (/** @type {number} */ r, /** @type {number} */ y) => [r * Math.cos(angle), y, r * Math.sin(angle)];
      line(shape, [at(0.4, 0.05), at(0.49, 0.6)], radius, color);
      line(shape, [at(0.4, 0.05), [0, 0.05, 0]], radius, color);
    }
    return shape;
  },
  wheel(random) {
    const shape = { balls: [], colors: [] };
    const spokes = 12 + Math.floor(12 * random());
    circle(shape, [0, 0.5, 0], 0.47, 0.03, [0.06, 0.06, 0.07], 'front');
    circle(shape, [0, 0.5, 0], 0.43, 0.012, paint(random), 'front');
    line(
      shape,
      [
        [0, 0.5, -0.05],
        [0, 0.5, 0.05],
      ],
      0.035,
      [0.5, 0.5, 0.52],
    );
    for (let spoke = 0; spoke < spokes; spoke++) {
      const angle = (2 * Math.PI * spoke) / spokes;
      line(
        shape,
        [
          [0, 0.5, 0],
          [0.43 * Math.cos(angle), 0.5 + 0.43 * Math.sin(angle), 0],
        ],
        0.005,
        [0.6, 0.6, 0.62],
      );
    }
    return shape;
  },
  stool(random) {
    const shape = { balls: [], colors: [] };
    const [color, radius, height] = [paint(random), 0.012 + 0.012 * random(), 0.6 + 0.3 * random()];
    for (let r = 0; r < 0.26; r += 0.03) circle(shape, [0, height, 0], r, 0.03, paint(random));
    for (const [x, z] of [
      [-1, -1],
      [-1, 1],
      [1, -1],
      [1, 1],
    ]) {
      line(
        shape,
        [
          [0.18 * x, height, 0.18 * z],
          [0.28 * x, radius, 0.28 * z],
        ],
        radius,
        color,
      );
    }
    circle(shape, [0, 0.3 * height, 0], 0.34, 0.7 * radius, color);
    return shape;
  },
  lamp(random) {
    const shape = { balls: [], colors: [] };
    const [pole, shade] = [paint(random), paint(random)];
    for (let r = 0; r < 0.16; r += 0.02) circle(shape, [0, 0.015, 0], r, 0.015, pole);
    line(
      shape,
      [
        [0, 0, 0],
        [0, 0.85, 0],
        [0.05, 0.97, 0],
        [0.18, 1.02, 0],
        [0.3, 0.98, 0],
      ],
      0.009,
      pole,
    );
    for (let s = 0; s <= 1; s += 0.08) circle(shape, [0.33, 0.98 - 0.16 * s, 0], 0.03 + 0.1 * s, 0.014, shade);
    return shape;
  },
  ladder(random) {
    const shape = { balls: [], colors: [] };
    const [color, radius] = [paint(random), 0.014 + 0.008 * random()];
    for (const lean of [-0.22, 0.22]) {
      for (const side of [-0.2, 0.2])
        line(
          shape,
          [
            [side, radius, lean],
            [0.7 * side, 1, 0],
          ],
          radius,
          color,
        );
      for (let rung = 1; rung < 5; rung++) {
        const [y, x] = [rung / 5, 0.2 - (0.06 * rung) / 5];
        line(
          shape,
          [
            [-x, y, lean * (1 - y)],
            [x, y, lean * (1 - y)],
          ],
          0.8 * radius,
          color,
        );
      }
    }
    return shape;
  },
  glasses(random) {
    const shape = { balls: [], colors: [] };
    const [color, radius] = [paint(random), 0.008 + 0.01 * random()];
    for (const side of [-1, 1]) {
      circle(shape, [0.21 * side, 0.17, 0], 0.16, radius, color, 'front');
      line(
        shape,
        [
          [0.37 * side, 0.2, 0],
          [0.4 * side, 0.2, -0.45],
          [0.4 * side, 0.03, -0.6],
        ],
        radius,
        color,
      );
    }
    line(
      shape,
      [
        [-0.06, 0.2, 0],
        [0, 0.22, 0],
        [0.06, 0.2, 0],
      ],
      radius,
      color,
    );
    return shape;
  },
  grasses(random) {
    const shape = { balls: [], colors: [] };
    const pot = paint(random);
    for (let y = 0.05; y <= 0.25; y += 0.02) circle(shape, [0, y, 0], 0.1 + 0.2 * y, 0.025, pot);
    for (let blade = 0; blade < 16; blade++) {
      const [angle, reach, height] = [2 * Math.PI * random(), 0.1 + 0.35 * random(), 0.4 + 0.5 * random()];
      const path = Array.from({ length: 8 }, (_, i) => {
        const s = i / 7;
        const r = reach * s * s;
        return [r * Math.cos(angle), 0.25 + height * (s - 0.4 * s * s), r * Math.sin(angle)];
      });
      line(shape, path, 0.004 + 0.006 * random(), [0.1 + 0.2 * random(), 0.35 + 0.3 * random(), 0.1]);
    }
    return shape;
  },
  cage(random) {
    const shape = { balls: [], colors: [] };
    const [color, bars] = [paint(random), 16 + Math.floor(10 * random())];
    for (const y of [0.02, 0.3, 0.6]) circle(shape, [0, y, 0], 0.3, 0.01, color);
    for (let bar = 0; bar < bars; bar++) {
      const angle = (2 * Math.PI * bar) / bars;
      const path = [
        [0.3, 0.02],
        [0.3, 0.6],
        [0.22, 0.78],
        [0, 0.86],
      ];
      line(
        shape,
        path.map(([r, y]) => [r * Math.cos(angle), y, r * Math.sin(angle)]),
        0.006,
        color,
      );
    }
    circle(shape, [0, 0.92, 0], 0.05, 0.008, color, 'front');
    return shape;
  },
};

/** @param {Random} random */
function paint(random) {
  const [gray, mix] = [0.05 + 0.85 * random(), random()];
  return [0, 1, 2].map(() => (mix < 0.4 ? gray : 0.5 * gray + 0.5 * random()));
}

/**
 * @param {Shape} shape
 * @param {number[][]} path
 * @param {number} radius
 * @param {number[]} color
 */
function line({ balls, colors }, path, radius, color) {
  for (let i = 1; i < path.length; i++) {
    const [from, to] = [path[i - 1], path[i]];
    const length = Math.hypot(...to.map((value, axis) => value - from[axis]));
    const steps = Math.max(1, Math.ceil(length / (0.3 * radius)));
    for (let step = 0; step <= steps; step++) {
      balls.push([...from.map((value, axis) => value + ((to[axis] - value) * step) / steps), radius]);
      colors.push(color);
    }
  }
}

/**
 * @param {Shape} shape
 * @param {number[]} middle
 * @param {number} size radius of the circle
 * @param {number} radius of the wire
 * @param {number[]} color
 * @param {'floor' | 'front'} plane
 */
function circle(shape, [x, y, z], size, radius, color, plane = 'floor') {
  const path = Array.from({ length: 65 }, (_, i) => {
    const [u, v] = [size * Math.cos((2 * Math.PI * i) / 64), size * Math.sin((2 * Math.PI * i) / 64)];
    return plane === 'floor' ? [x + u, y, z + v] : [x + u, y + v, z];
  });
  line(shape, path, radius, color);
}

const supersample = 3;

/**
 * Renders a shape from a random side with a soft light, so that its longer side has `size` pixels.
 *
 * @param {Shape} shape
 * @param {number} size
 * @param {Random} random
 * @returns {{ width: number, height: number, data: Uint8Array }} RGBA
 */
export function renderShape({ balls, colors }, size, random) {
  const [yaw, pitch] = [2 * (random() - 0.5), 0.1 + 0.45 * random()];
  const [sinYaw, cosYaw, sinPitch, cosPitch] = [Math.sin(yaw), Math.cos(yaw), Math.sin(pitch), Math.cos(pitch)];
  const projected = balls.map(([x, y, z, radius]) => {
    const [right, back] = [cosYaw * x - sinYaw * z, sinYaw * x + cosYaw * z];
    const towards = sinPitch * (y - 0.4) + cosPitch * back;
    const scale = 3 / (3 - towards);
    return [scale * right, scale * (sinPitch * back - cosPitch * (y - 0.4)), towards, scale * radius];
  });
  const low = [0, 1].map((axis) => Math.min(...projected.map((ball) => ball[axis] - ball[3])));
  const high = [0, 1].map((axis) => Math.max(...projected.map((ball) => ball[axis] + ball[3])));
  const scale = size / Math.max(high[0] - low[0], high[1] - low[1]);
  const [width, height] = [0, 1].map((axis) => Math.ceil(scale * (high[axis] - low[axis])) + 4);

  const [fineWidth, fineHeight] = [width * supersample, height * supersample];
  const depth = new Float32Array(fineWidth * fineHeight).fill(Number.NEGATIVE_INFINITY);
  const fine = new Uint8Array(3 * depth.length);
  for (const [index, [x, y, towards, ballRadius]] of projected.entries()) {
    const [centerX, centerY] = [x - low[0], y - low[1]].map((value) => (value * scale + 2) * supersample);
    const radius = ballRadius * scale * supersample;
    for (let row = Math.ceil(centerY - radius); row <= centerY + radius; row++) {
      for (let column = Math.ceil(centerX - radius); column <= centerX + radius; column++) {
        const [nx, ny] = [(column - centerX) / radius, (row - centerY) / radius];
        const square = 1 - nx * nx - ny * ny;
        const at = row * fineWidth + column;
        if (square < 0) continue;
        const nz = Math.sqrt(square);
        const near = towards + nz * ballRadius;
        if (near <= depth[at]) continue;
        depth[at] = near;
        const light = 0.25 + 0.75 * Math.max(0, -0.4 * nx - 0.65 * ny + 0.65 * nz) + 0.6 * nz ** 40;
        for (let c = 0; c < 3; c++) fine[3 * at + c] = Math.min(255, 255 * light * colors[index][c]);
      }
    }
  }

  const data = new Uint8Array(4 * width * height);
  for (let at = 0; at < width * height; at++) {
    const sums = [0, 0, 0, 0];
    for (let sample = 0; sample < supersample ** 2; sample++) {
      const row = Math.floor(at / width) * supersample + Math.floor(sample / supersample);
      const fineAt = row * fineWidth + (at % width) * supersample + (sample % supersample);
      if (depth[fineAt] === Number.NEGATIVE_INFINITY) continue;
      sums[3]++;
      for (let c = 0; c < 3; c++) sums[c] += fine[3 * fineAt + c];
    }
    for (let c = 0; c < 3; c++) data[4 * at + c] = sums[c] / Math.max(1, sums[3]);
    data[4 * at + 3] = (255 * sums[3]) / supersample ** 2;
  }
  return { width, height, data };
}
