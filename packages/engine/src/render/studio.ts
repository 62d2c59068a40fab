import { sampleBilinear, smoothStep } from '../base/interpolation.js';
import type { TriangleMesh } from '../base/mesh.js';
import { type DepthMap, depthMap, visibleShare } from './rasterize.js';
import { type Ball, ballAround, orbitRotation, squareView, type View } from './view.js';

/**
 * A photo studio around a model on a white floor: a dome of soft light, one large key light above and to the left of
 * the camera, and light reflected by the floor. Small lamps with a shadow map each sample all of it, so ambient
 * occlusion, soft shadows and the contact shadow are one sum.
 */
export interface Studio {
  readonly lamps: readonly Lamp[];
  readonly floor: Floor;
  /** Half the diagonal of the model's bounds: the unit of biases and fades. */
  readonly radius: number;
}

interface Lamp {
  /** The unit vector toward the lamp. */
  readonly direction: readonly [number, number, number];
  readonly color: Color;
  readonly view: View;
  readonly shadows: DepthMap;
}

/** Linear light; 1 is white that faces the key light. */
type Color = readonly [number, number, number];

/** Records the share of light, 0..1, that reaches points of the floor, on a square grid around the model; 1 outside. */
interface Floor {
  readonly left: number;
  readonly back: number;
  readonly cell: number;
  /** Half the side of the grid. */
  readonly reach: number;
  readonly share: Float32Array;
}

/** Lamps of the dome. 28 would change thumbnails by less than 1 of 255 on average and take 20 % longer. */
const domeLampCount = 18;
const keyLampCount = 12;
const keyColor: Color = [0.8, 0.785, 0.76];
const domeColor: Color = [0.5, 0.51, 0.525];
/** The white floor reflects this share of its light. */
const bounce = 0.38;
/** Half the apparent angle of the key light: a softbox near the object, so that its shadow has no hard edge. */
const keySpreadRadians = 0.32;
const keyYawRadians = -0.85;
const keyPitchRadians = 0.9;

const shadowMapSize = 160;
const floorSize = 128;
/** Reach of the floor's grid from the middle of the model, in radii. */
const floorReach = 2.6;
const goldenAngle = Math.PI * (3 - Math.sqrt(5));

/** Sets up the lamps for a camera at `yawRadians`, with which they turn, and casts their shadows. */
export function setUpStudio(mesh: TriangleMesh, yawRadians: number): Studio {
  const ball = ballAround(mesh.positions);
  const lamps = [...domeLamps(yawRadians), ...keyLamps(yawRadians)].map(({ yaw, pitch, color }): Lamp => {
    const view = lampView(ball, yaw, pitch);
    const direction = [view.rotation[6], view.rotation[7], view.rotation[8]] as const;
    return { direction, color, view, shadows: depthMap(mesh, view) };
  });
  return { lamps, radius: ball.radius, floor: shadeFloor(lamps, ball) };
}

/**
 * Sums the light that reaches points [3·N] with unit normals [3·N], in linear color [3·N]. A diffuse surface shows its
 * base color times that.
 */
export function gatherLight({ lamps, floor, radius }: Studio, points: Float32Array, normals: Float32Array) {
  // Slightly off the surface, so that the coarse texels of the shadow maps do not let it shade itself.
  const lift = (2.5 * radius) / shadowMapSize;
  const light = lightOf(
    lamps,
    points.map((coordinate, i) => coordinate + lift * normals[i]!),
    normals,
  );
  // The floor reflects the light that reaches it. The higher a point is, the more of the lit floor is visible from it.
  for (let i = 0; i < points.length; i += 3) {
    const height = Math.min(1, Math.max(0, points[i + 1]! / radius));
    const below = floorShare(floor, points[i]!, points[i + 2]!);
    const bounced = bounce * (0.5 - 0.5 * normals[i + 1]!) * (below + (1 - below) * height);
    light[i]! += bounced;
    light[i + 1]! += bounced;
    light[i + 2]! += bounced;
  }
  return light;
}

/** Computes the light [3·N] that reaches points [3·N] from the lamps. One lamp at a time keeps its map in the cache. */
function lightOf(lamps: readonly Lamp[], points: Float32Array, normals: Float32Array): Float32Array {
  const light = new Float32Array(points.length);
  for (const lamp of lamps) addLight(lamp, points, normals, light);
  return light;
}

/**
 * Adds one lamp's light in a function of its own, because V8 optimizes functions between their calls: the first model's
 * light takes 80 ms instead of 115 ms.
 */
function addLight(
  { direction, color, view, shadows }: Lamp,
  points: Float32Array,
  normals: Float32Array,
  light: Float32Array,
): void {
  const [towardsX, towardsY, towardsZ] = direction;
  const [red, green, blue] = color;
  const [eyeX, eyeY, eyeZ] = view.eye;
  const [rightX, rightY, rightZ, upX, upY, upZ] = view.rotation;
  const [centerX, centerY] = view.principalPoint;
  for (let i = 0; i < points.length; i += 3) {
    const cosine = towardsX * normals[i]! + towardsY * normals[i + 1]! + towardsZ * normals[i + 2]!;
    if (cosine <= 0) continue;
    const x = points[i]! - eyeX;
    const y = points[i + 1]! - eyeY;
    const z = points[i + 2]! - eyeZ;
    const depth = -(towardsX * x + towardsY * y + towardsZ * z);
    const scale = view.focalLength / depth;
    const column = centerX + scale * (rightX * x + rightY * y + rightZ * z);
    const row = centerY - scale * (upX * x + upY * y + upZ * z);
    const received = cosine * visibleShare(shadows, column, row, depth);
    light[i]! += received * red;
    light[i + 1]! += received * green;
    light[i + 2]! += received * blue;
  }
}

/** Returns the share of light, 0..1, at [x, z] of the floor: the soft shadow, faded out toward the grid's edge. */
export function floorShare({ left, back, cell, reach, share }: Floor, x: number, z: number): number {
  const column = (x - left) / cell;
  const row = (z - back) / cell;
  if (!(column >= 0 && row >= 0 && column < floorSize - 1 && row < floorSize - 1)) return 1;
  const lit = sampleBilinear(share, floorSize, floorSize, column, row);
  const dx = x - left - reach;
  const dz = z - back - reach;
  return lit + (1 - lit) * smoothStep(0.5, 1, Math.sqrt(dx * dx + dz * dz) / reach);
}

function shadeFloor(lamps: readonly Lamp[], { middle, radius }: Ball): Floor {
  const reach = floorReach * radius;
  const [left, back] = [middle[0] - reach, middle[2] - reach];
  const cell = (2 * reach) / (floorSize - 1);
  const points = new Float32Array(3 * floorSize * floorSize);
  const normals = new Float32Array(points.length);
  for (let i = 0; i < floorSize * floorSize; i++) {
    points[3 * i] = left + cell * (i % floorSize);
    points[3 * i + 2] = back + cell * Math.floor(i / floorSize);
    normals[3 * i + 1] = 1;
  }
  const light = lightOf(lamps, points, normals);
  const unshaded = lamps.reduce((sum, lamp) => sum + lamp.direction[1] * lamp.color[1], 0);
  const share = new Float32Array(floorSize * floorSize).map((_, i) => light[3 * i + 1]! / unshaded);
  // Each lamp casts a faint edge. Two passes of a small blur merge them into one soft shadow.
  return { left, back, cell, reach, share: blurred(blurred(share)) };
}

/** Blurs the floor by 1 2 1 along each axis. Rows may mix at the border, where there is no shadow. */
function blurred(share: Float32Array): Float32Array {
  const result = share.slice();
  for (const stride of [1, floorSize]) {
    const before = result.slice();
    for (let at = floorSize; at < share.length - floorSize; at++) {
      result[at] = (before[at - stride]! + 2 * before[at]! + before[at + stride]!) / 4;
    }
  }
  return result;
}

/** Lamps spread evenly over the upper hemisphere on a spiral, a little brighter on the camera's side. */
function domeLamps(cameraYaw: number) {
  return Array.from({ length: domeLampCount }, (_, i) => {
    const pitch = Math.asin((i + 0.5) / domeLampCount);
    const yaw = cameraYaw + i * goldenAngle;
    const towardsCamera = Math.cos(pitch) * Math.cos(yaw - cameraYaw);
    // A surface that faces up receives half the light of an even dome on average, hence the factor 2.
    const scale = (2 / domeLampCount) * (1 + 0.35 * towardsCamera);
    return { yaw, pitch, color: times(domeColor, scale) };
  });
}

/** Lamps spread evenly over a round softbox. */
function keyLamps(cameraYaw: number) {
  return Array.from({ length: keyLampCount }, (_, i) => {
    const offset = keySpreadRadians * Math.sqrt((i + 0.5) / keyLampCount);
    const pitch = keyPitchRadians + offset * Math.sin(i * goldenAngle);
    const yaw = cameraYaw + keyYawRadians + (offset * Math.cos(i * goldenAngle)) / Math.cos(pitch);
    return { yaw, pitch, color: times(keyColor, 1 / keyLampCount) };
  });
}

/** Makes a lamp's view, from so far away that its light is nearly parallel. */
function lampView({ middle, radius }: Ball, yaw: number, pitch: number): View {
  const rotation = orbitRotation(yaw, pitch);
  const distance = 100 * radius;
  const along = (axis: 0 | 1 | 2) => middle[axis] + distance * rotation[6 + axis]!;
  // A hundred radii away the ball fills 96 % of the map.
  const focalLength = 0.48 * shadowMapSize * 100;
  return squareView(shadowMapSize, { eye: [along(0), along(1), along(2)], rotation, focalLength });
}

function times(color: Color, factor: number): Color {
  return [color[0] * factor, color[1] * factor, color[2] * factor];
}
