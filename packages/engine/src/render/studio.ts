import { sampleBilinear, smoothStep } from '../base/interpolation.js';
import type { TriangleMesh } from '../base/mesh.js';
import { type DepthMap, depthMap, visibleShare } from './rasterize.js';
import { type Ball, ballAround, orbitRotation, type View } from './view.js';

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
  /** Unit vector towards the lamp. */
  readonly direction: readonly [number, number, number];
  readonly color: Color;
  readonly view: View;
  readonly shadows: DepthMap;
}

/** Linear light; 1 is white that faces the key light. */
type Color = readonly [number, number, number];

/** The share of its light that reaches each point of the floor, 0..1, on a square grid around the model; 1 outside. */
interface Floor {
  readonly left: number;
  readonly back: number;
  readonly cell: number;
  readonly share: Float32Array;
}

const domeLampCount = 28;
const keyLampCount = 12;
const keyColor: Color = [0.8, 0.785, 0.76];
const domeColor: Color = [0.5, 0.51, 0.525];
/** The share of its light that the white floor reflects. */
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
    return { direction, color, view, shadows: depthMap(mesh, view, { cullBackFaces: true }) };
  });
  return { lamps, radius: ball.radius, floor: shadeFloor(lamps, ball) };
}

/**
 * Sums the light that reaches a point [3] with a unit normal [3] into `light` [3], in linear color. A diffuse surface
 * shows its base color times that.
 */
export function gatherLight(studio: Studio, point: Float32Array, normal: Float32Array, light: Float32Array): void {
  const nx = normal[0]!;
  const ny = normal[1]!;
  const nz = normal[2]!;
  // Slightly off the surface, so that the coarse texels of the shadow maps do not let it shade itself.
  const lift = (2.5 * studio.radius) / shadowMapSize;
  const x = point[0]! + lift * nx;
  const y = point[1]! + lift * ny;
  const z = point[2]! + lift * nz;
  let red = 0;
  let green = 0;
  let blue = 0;
  for (const lamp of studio.lamps) {
    const cosine = lamp.direction[0] * nx + lamp.direction[1] * ny + lamp.direction[2] * nz;
    if (cosine <= 0) continue;
    const received = cosine * litShare(lamp, x, y, z);
    red += received * lamp.color[0];
    green += received * lamp.color[1];
    blue += received * lamp.color[2];
  }
  // The floor reflects the light that reaches it. The higher a point is, the more of the lit floor it sees.
  const height = Math.min(1, Math.max(0, y / studio.radius));
  const below = floorShare(studio, x, z);
  const bounced = bounce * (0.5 - 0.5 * ny) * (below + (1 - below) * height);
  light[0] = red + bounced;
  light[1] = green + bounced;
  light[2] = blue + bounced;
}

/**
 * The share of its light that reaches the floor at [x, z], 0..1: the soft shadow, faded out towards the grid's edge.
 */
export function floorShare({ floor, radius }: Studio, x: number, z: number): number {
  const column = (x - floor.left) / floor.cell;
  const row = (z - floor.back) / floor.cell;
  if (!(column >= 0 && row >= 0 && column < floorSize - 1 && row < floorSize - 1)) return 1;
  const share = sampleBilinear(floor.share, floorSize, floorSize, column, row);
  const reach = floorReach * radius;
  const away = Math.hypot(x - floor.left - reach, z - floor.back - reach) / reach;
  return share + (1 - share) * smoothStep(0.5, 1, away);
}

function litShare({ view, shadows }: Lamp, x: number, y: number, z: number): number {
  const { eye, rotation, focalLength, principalPoint } = view;
  const dx = x - eye[0];
  const dy = y - eye[1];
  const dz = z - eye[2];
  const depth = -(rotation[6] * dx + rotation[7] * dy + rotation[8] * dz);
  const scale = focalLength / depth;
  const column = principalPoint[0] + scale * (rotation[0] * dx + rotation[1] * dy + rotation[2] * dz);
  const row = principalPoint[1] - scale * (rotation[3] * dx + rotation[4] * dy + rotation[5] * dz);
  return visibleShare(shadows, column, row, depth);
}

function shadeFloor(lamps: readonly Lamp[], { middle, radius }: Ball): Floor {
  const [left, back] = [middle[0] - floorReach * radius, middle[2] - floorReach * radius];
  const cell = (2 * floorReach * radius) / (floorSize - 1);
  const share = new Float32Array(floorSize * floorSize);
  const all = lamps.reduce((sum, lamp) => sum + lamp.direction[1] * lamp.color[1], 0);
  for (let at = 0; at < share.length; at++) {
    const x = left + cell * (at % floorSize);
    const z = back + cell * Math.floor(at / floorSize);
    for (const lamp of lamps) {
      share[at]! += (lamp.direction[1] * lamp.color[1] * litShare(lamp, x, 0, z)) / all;
    }
  }
  // Forty lamps cast forty faint edges. Two passes of a small blur merge them into one soft shadow.
  return { left, back, cell, share: blurred(blurred(share)) };
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

/** A lamp's view, from so far away that its light is nearly parallel. */
function lampView({ middle, radius }: Ball, yaw: number, pitch: number): View {
  const rotation = orbitRotation(yaw, pitch);
  const distance = 100 * radius;
  const along = (axis: 0 | 1 | 2) => middle[axis] + distance * rotation[6 + axis]!;
  return {
    width: shadowMapSize,
    height: shadowMapSize,
    eye: [along(0), along(1), along(2)],
    rotation,
    // A hundred radii away the ball fills 96 % of the map.
    focalLength: 0.48 * shadowMapSize * 100,
    principalPoint: [shadowMapSize / 2, shadowMapSize / 2],
  };
}

function times(color: Color, factor: number): Color {
  return [color[0] * factor, color[1] * factor, color[2] * factor];
}
