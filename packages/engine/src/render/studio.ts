import type { TriangleMesh } from '../base/mesh.js';
import { type Ball, ballAround } from './ball.js';
import { rasterise } from './rasterise.js';
import { orbitRotation, type View } from './view.js';
import { type DepthMap, visibleShare } from './visibility.js';

/**
 * A photo studio around a model on a white floor: a dome of soft light, one large key light up and left of the
 * camera, and light that comes back from the floor. All of it is sampled by small lamps with a shadow map each, so
 * ambient occlusion, soft shadows and the contact shadow are one and the same sum.
 */
export interface Studio {
  readonly lamps: readonly Lamp[];
  readonly floor: Floor;
  /** Half the diagonal of the model's bounds: the length that biases and fades are measured in. */
  readonly radius: number;
}

interface Lamp {
  /** Unit vector towards the lamp. */
  readonly direction: readonly [number, number, number];
  readonly color: Color;
  readonly view: View;
  readonly shadows: DepthMap;
}

/** Linear light, 1 is a white that faces the key light. */
type Color = readonly [number, number, number];

/** How much of its light each point of the floor keeps, 0..1, on a square grid around the model; outside it is 1. */
interface Floor {
  readonly left: number;
  readonly back: number;
  readonly cell: number;
  readonly share: Float32Array;
}

const DOME_LAMPS = 28;
const KEY_LAMPS = 12;
const KEY: Color = [0.8, 0.785, 0.76];
const DOME: Color = [0.5, 0.51, 0.525];
/** How much of its light the white floor sends back up. */
const BOUNCE = 0.38;
/** Half the angle under which the key light is seen: a softbox near the object, so its shadow has no hard edge. */
const KEY_SPREAD_RADIANS = 0.32;
const KEY_YAW_RADIANS = -0.85;
const KEY_PITCH_RADIANS = 0.9;

const SHADOW_MAP_SIZE = 160;
const FLOOR_SIZE = 128;
/** In radii, how far the grid reaches from the middle of the model. */
const FLOOR_REACH = 2.6;
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));

/** Sets up the lamps for a camera at `yawRadians` (they turn with it: every side is shown in its best light) and casts their shadows. */
export function setUpStudio(mesh: TriangleMesh, yawRadians: number): Studio {
  const ball = ballAround(mesh.positions);
  const lamps = [...domeLamps(yawRadians), ...keyLamps(yawRadians)].map(({ yaw, pitch, color }): Lamp => {
    const view = lampView(ball, yaw, pitch);
    const direction = [view.rotation[6], view.rotation[7], view.rotation[8]] as const;
    return { direction, color, view, shadows: rasterise(mesh, view, { cullBackFaces: true }) };
  });
  return { lamps, radius: ball.radius, floor: shadeFloor(lamps, ball) };
}

/**
 * Adds up the light that reaches a point [3] with a unit normal [3] into `light` [3], in linear colour; a diffuse
 * surface shows its base color times that.
 */
export function gatherLight(studio: Studio, point: Float32Array, normal: Float32Array, light: Float32Array): void {
  const nx = normal[0]!;
  const ny = normal[1]!;
  const nz = normal[2]!;
  // A step off the surface, or the coarse texels of the shadow maps would let it shade itself.
  const lift = (2.5 * studio.radius) / SHADOW_MAP_SIZE;
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
  // The floor sends back what reaches it; the higher a point is, the more of the lit floor it sees.
  const height = Math.min(1, Math.max(0, y / studio.radius));
  const below = floorShare(studio, x, z);
  const bounced = BOUNCE * (0.5 - 0.5 * ny) * (below + (1 - below) * height);
  light[0] = red + bounced;
  light[1] = green + bounced;
  light[2] = blue + bounced;
}

/** How much of its light the floor keeps at [x, z], 0..1: the model's soft shadow, faded out towards the grid's edge. */
export function floorShare({ floor, radius }: Studio, x: number, z: number): number {
  const column = (x - floor.left) / floor.cell;
  const row = (z - floor.back) / floor.cell;
  const [i, j] = [Math.floor(column), Math.floor(row)];
  if (!(i >= 0 && j >= 0 && i < FLOOR_SIZE - 1 && j < FLOOR_SIZE - 1)) return 1;
  const [right, front] = [column - i, row - j];
  const at = j * FLOOR_SIZE + i;
  const back = floor.share[at]! * (1 - right) + floor.share[at + 1]! * right;
  const near = floor.share[at + FLOOR_SIZE]! * (1 - right) + floor.share[at + FLOOR_SIZE + 1]! * right;
  const reach = FLOOR_REACH * radius;
  const away = Math.hypot(x - floor.left - reach, z - floor.back - reach) / reach;
  const fade = Math.min(1, Math.max(0, (away - 0.5) / 0.5));
  const share = back * (1 - front) + near * front;
  return share + (1 - share) * fade * fade * (3 - 2 * fade);
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
  const [left, back] = [middle[0] - FLOOR_REACH * radius, middle[2] - FLOOR_REACH * radius];
  const cell = (2 * FLOOR_REACH * radius) / (FLOOR_SIZE - 1);
  const share = new Float32Array(FLOOR_SIZE * FLOOR_SIZE);
  const all = lamps.reduce((sum, lamp) => sum + lamp.direction[1] * lamp.color[1], 0);
  for (let at = 0; at < share.length; at++) {
    const x = left + cell * (at % FLOOR_SIZE);
    const z = back + cell * Math.floor(at / FLOOR_SIZE);
    for (const lamp of lamps) {
      share[at]! += (lamp.direction[1] * lamp.color[1] * litShare(lamp, x, 0, z)) / all;
    }
  }
  // Forty lamps cast forty faint edges: two passes of a small blur make them one soft shadow.
  return { left, back, cell, share: blurred(blurred(share)) };
}

/** Each cell of the floor mixed with its neighbours, 1 2 1 along each axis; at the border, where no shadow is left, rows may mix. */
function blurred(share: Float32Array): Float32Array {
  const result = share.slice();
  for (const stride of [1, FLOOR_SIZE]) {
    const before = result.slice();
    for (let at = FLOOR_SIZE; at < share.length - FLOOR_SIZE; at++) {
      result[at] = (before[at - stride]! + 2 * before[at]! + before[at + stride]!) / 4;
    }
  }
  return result;
}

/** Spread evenly over the upper half of the sphere, on a spiral; a little brighter from the camera's side. */
function domeLamps(cameraYaw: number) {
  return Array.from({ length: DOME_LAMPS }, (_, i) => {
    const pitch = Math.asin((i + 0.5) / DOME_LAMPS);
    const yaw = cameraYaw + i * GOLDEN_ANGLE;
    const towardsCamera = Math.cos(pitch) * Math.cos(yaw - cameraYaw);
    // An even dome gives 2·cosine on average to what faces straight up: hence the 2.
    const scale = (2 / DOME_LAMPS) * (1 + 0.35 * towardsCamera);
    return { yaw, pitch, color: times(DOME, scale) };
  });
}

/** Spread evenly over a round softbox. */
function keyLamps(cameraYaw: number) {
  return Array.from({ length: KEY_LAMPS }, (_, i) => {
    const offset = KEY_SPREAD_RADIANS * Math.sqrt((i + 0.5) / KEY_LAMPS);
    const pitch = KEY_PITCH_RADIANS + offset * Math.sin(i * GOLDEN_ANGLE);
    const yaw = cameraYaw + KEY_YAW_RADIANS + (offset * Math.cos(i * GOLDEN_ANGLE)) / Math.cos(pitch);
    return { yaw, pitch, color: times(KEY, 1 / KEY_LAMPS) };
  });
}

/** So far away that its light is nearly parallel: one rasteriser then serves lamps as well as cameras. */
function lampView({ middle, radius }: Ball, yaw: number, pitch: number): View {
  const rotation = orbitRotation(yaw, pitch);
  const distance = 100 * radius;
  const along = (axis: 0 | 1 | 2) => middle[axis] + distance * rotation[6 + axis]!;
  return {
    width: SHADOW_MAP_SIZE,
    height: SHADOW_MAP_SIZE,
    eye: [along(0), along(1), along(2)],
    rotation,
    // A hundred radii away the ball fills 96 % of the map.
    focalLength: 0.48 * SHADOW_MAP_SIZE * 100,
    principalPoint: [SHADOW_MAP_SIZE / 2, SHADOW_MAP_SIZE / 2],
  };
}

function times(color: Color, factor: number): Color {
  return [color[0] * factor, color[1] * factor, color[2] * factor];
}
