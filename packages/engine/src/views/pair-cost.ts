import { smoothStep } from '../base/interpolation.js';
import { mapSize, newSample, type Sample, sampleMap, sampleOutline } from './map.js';
import { addResidual, type NormalEquations, normalEquations } from './normal-equations.js';
import { OFFSET, perView, RELIEF, SIZE, TILT_U, TILT_V, X, Y, YAW } from './parameters.js';
import { colorSize, type PreparedView } from './prepared-view.js';
import type { ReliefPoints, RimRays } from './rays.js';
import { multiply, rotationSlopes, transpose, type ViewCamera } from './view-camera.js';

// How badly what one view shows fits another view. Points of the first view's relief, and rays of its outline, are
// projected into the second view. An outline is the only exact thing that a photo shows of a shape, so it counts most.
// The constants are from the report on 24 rendered objects; lengths are in units of space, in which an object is about
// 1 long.

/** Standard deviation of an outline. */
const outlineSpread = 0.004;
/** Of the depth of a front that two views see. */
const overlapSpread = 0.03;
/** Of the depth of a guessed back, with two views and with more. */
const backSpread = { pair: 0.4, more: 0.6 };
/** Of colors, sRGB in 0..1, and how much they count against shapes. */
const colorSpread = 0.12;
const colorWeight = 0.6;

/** How many independent observations all points of a relief, and all rays of an outline, are worth. */
const pointsWorth = 30;
const raysWorth = 40;

/** A front with less trust does not say that the space before it is empty. */
const minTrust = 0.05;

/** A view sees another one's point if the cosine between its normal and the view's axis is more than this. */
const seenCosine = 0.3;
/** Colors count from the first cosine on, and fully from the second. */
const colorCosines = [0.25, 0.5] as const;
/** Colors count fully up to the first distance from a front, and not at all from the second on. */
const colorDistances = [0.05, 0.1] as const;
/** A front behind another view's front by more than this is hidden. */
const maxOverlap = 0.1;
/** Views are opposite if the cosine between their axes is less. */
const oppositeCosine = -0.5;
/** Violations above this do not say how precise fronts are. */
const maxMeasured = 0.06;

/** Limits and weights that change while cameras are sought. */
export interface CostSettings {
  /** Larger distances count little more than this one. */
  readonly cutoff: number;
  /** Standard deviation of fronts. */
  readonly frontSpread: number;
}

/** The points and rays of a view that are compared with other views. */
export interface ViewRays {
  readonly view: PreparedView;
  readonly points: ReliefPoints;
  readonly rim: RimRays;
}

/** A view at a camera. */
export interface PosedRays {
  readonly rays: ViewRays;
  readonly camera: ViewCamera;
  /** Yaw, pitch and roll. */
  readonly angles: readonly number[];
}

/** Numbers of the first view, then of the second, then the lens. */
const rowLength = 2 * perView + 1;
const LENS = 2 * perView;

/** The cost of what one view shows in another. One object is used for all pairs and steps. */
export class PairCost {
  /** Of the numbers of both views and the lens, if they were asked for. */
  equations: NormalEquations = normalEquations(rowLength);
  /** The mean distance by which fronts violate other views: this sum divided by this weight. */
  violation = 0;
  violationWeight = 0;
  #cost = 0;
  #withSlopes = false;
  readonly #row = new Float64Array(rowLength);
  readonly #sample: Sample = newSample();
  readonly #trust: Sample = newSample();
  readonly #front: Sample = newSample();
  /** From the first view's frame to the second's, and its derivatives by the angles of both. */
  #turn: Float64Array = new Float64Array(9);
  #turns: readonly Float64Array[] = [];
  #from!: ViewCamera;
  #to!: ViewCamera;
  #fromSize = 0;
  #toSize = 0;
  // The current point: on its ray, in the first camera's frame, and in the second view.
  #rayU = 0;
  #rayV = 0;
  readonly #q = new Float64Array(3);
  #px = 0;
  #py = 0;
  #pz = 0;
  #u = 0;
  #v = 0;
  #scale = 0;
  #depthMoves = true;

  /**
   * @param angles yaw, pitch and roll of both views
   * @param colorChance the cost of a visible point's colors if photos are compared at random positions
   * @returns the sum of the squared residuals, less what visible points would cost by chance
   */
  evaluate(
    from: PosedRays,
    to: PosedRays,
    { cutoff, frontSpread }: CostSettings,
    { colorChance, isPair, withSlopes }: { colorChance: number; isPair: boolean; withSlopes: boolean },
  ): number {
    this.#begin(from.camera, to.camera, from.angles, to.angles, withSlopes);
    const { points, rim } = from.rays;
    const { view } = to.rays;
    const share = Math.sqrt(pointsWorth / points.count);
    const areOpposite = this.#turn[8]! < oppositeCosine;
    for (let k = 0; k < points.count; k++) {
      this.#placeOnRelief(points.u[k]!, points.v[k]!, points.front[k]!);
      const weight = points.weight[k]!;
      this.#addViolation(view, (share / frontSpread) * weight, weight, cutoff);
      const facing = this.#facing(points.normal, 3 * k);
      if (facing > colorCosines[0]) {
        this.#addOverlap(view, facing, weight, share, cutoff, points.color, 3 * k, colorChance);
      }
      if (!areOpposite) continue;
      this.#placeOnRelief(points.u[k]!, points.v[k]!, points.back[k]!);
      this.#addBack(view, share / (isPair ? backSpread.pair : backSpread.more), 2 * cutoff + 0.1);
    }
    const rayWeight = Math.sqrt(raysWorth / Math.max(rim.count, 1)) / outlineSpread;
    for (let k = 0; k < rim.count; k++) {
      this.#place(rim.u[k]!, rim.v[k]!, rim.depth[k]!);
      this.#depthMoves = false;
      this.#addOutside(view, rayWeight, 0.6 * cutoff);
    }
    return this.#cost;
  }

  #begin(
    from: ViewCamera,
    to: ViewCamera,
    fromAngles: readonly number[],
    toAngles: readonly number[],
    withSlopes: boolean,
  ): void {
    this.#cost = 0;
    this.#withSlopes = withSlopes;
    this.#from = from;
    this.#to = to;
    this.#fromSize = from.distance * from.halfTangent;
    this.#toSize = to.distance * to.halfTangent;
    const back = transpose(from.rotation);
    this.#turn = multiply(to.rotation, back);
    if (!withSlopes) return;
    this.equations = normalEquations(rowLength);
    this.#turns = [
      ...rotationSlopes(fromAngles).map((slope) => multiply(to.rotation, transpose(slope))),
      ...rotationSlopes(toAngles).map((slope) => multiply(slope, back)),
    ];
  }

  #placeOnRelief(u: number, v: number, depth: number): void {
    const { reliefOffset, reliefScale, tiltU, tiltV } = this.#from;
    this.#place(u, v, reliefOffset + (depth + tiltU * u + tiltV * v) * reliefScale);
    this.#depthMoves = true;
  }

  #place(u: number, v: number, z: number): void {
    const { x, y, halfTangent } = this.#from;
    const to = this.#to;
    const turn = this.#turn;
    const q = this.#q;
    const scale = this.#fromSize - halfTangent * z;
    const qx = u * scale - x;
    const qy = -v * scale - y;
    this.#rayU = u;
    this.#rayV = v;
    q[0] = qx;
    q[1] = qy;
    q[2] = z;
    this.#px = turn[0]! * qx + turn[1]! * qy + turn[2]! * z + to.x;
    this.#py = turn[3]! * qx + turn[4]! * qy + turn[5]! * z + to.y;
    this.#pz = turn[6]! * qx + turn[7]! * qy + turn[8]! * z;
    this.#scale = Math.max(this.#toSize - to.halfTangent * this.#pz, 1e-3);
    this.#u = this.#px / this.#scale;
    this.#v = -this.#py / this.#scale;
  }

  /** The cosine between a normal of the first view and the second view's axis. */
  #facing(normals: Float64Array, at: number): number {
    const turn = this.#turn;
    return turn[6]! * normals[at]! + turn[7]! * normals[at + 1]! + turn[8]! * normals[at + 2]!;
  }

  /** The distance from the second view's front to the point, toward its camera. */
  #sampleAhead(view: PreparedView): number {
    const { reliefOffset, reliefScale, tiltU, tiltV } = this.#to;
    sampleMap(view.front, mapSize, this.#u, this.#v, this.#front);
    return this.#pz - reliefOffset - (this.#front.value + tiltU * this.#u + tiltV * this.#v) * reliefScale;
  }

  /** A point of a front is neither outside another outline nor before another front. */
  #addViolation(view: PreparedView, weight: number, measureWeight: number, cutoff: number): void {
    sampleOutline(view.outline, mapSize, this.#u, this.#v, this.#sample);
    this.violationWeight += measureWeight;
    const outside = -this.#sample.value * this.#scale;
    if (outside > 0) {
      this.violation += measureWeight * soft(outside, maxMeasured);
      this.#addOutsideBy(outside, weight, cutoff);
      return;
    }
    sampleMap(view.trust, mapSize, this.#u, this.#v, this.#trust);
    const trust = this.#trust.value;
    if (trust < minTrust) return;
    const ahead = this.#sampleAhead(view) * trust;
    if (ahead <= 0) return;
    this.violation += measureWeight * soft(ahead, maxMeasured);
    this.#addAhead(ahead, weight, cutoff, trust);
  }

  #addOutside(view: PreparedView, weight: number, cutoff: number): void {
    sampleOutline(view.outline, mapSize, this.#u, this.#v, this.#sample);
    const outside = -this.#sample.value * this.#scale;
    if (outside > 0) this.#addOutsideBy(outside, weight, cutoff);
  }

  #addOutsideBy(outside: number, weight: number, cutoff: number): void {
    const { value, du, dv } = this.#sample;
    const slope = weight * softSlope(outside, cutoff);
    this.#add(
      weight * soft(outside, cutoff),
      -slope * du * this.#scale,
      -slope * dv * this.#scale,
      0,
      -slope * value,
      0,
    );
  }

  /** @param factor by which the distance was multiplied */
  #addAhead(ahead: number, weight: number, cutoff: number, factor = 1): void {
    const { reliefScale, tiltU, tiltV } = this.#to;
    const slope = weight * factor * softSlope(ahead, cutoff);
    const du = -slope * (this.#front.du + tiltU) * reliefScale;
    const dv = -slope * (this.#front.dv + tiltV) * reliefScale;
    this.#add(weight * soft(ahead, cutoff), du, dv, slope, 0, -slope);
  }

  /** Two views see the same surface at the same place, in the same colors. */
  #addOverlap(
    view: PreparedView,
    facing: number,
    weight: number,
    share: number,
    cutoff: number,
    colors: Float64Array,
    color: number,
    colorChance: number,
  ): void {
    if (Math.abs(this.#u) >= 1 || Math.abs(this.#v) >= 1) return;
    sampleMap(view.trust, mapSize, this.#u, this.#v, this.#trust);
    const trust = this.#trust.value;
    if (trust <= minTrust) return;
    const ahead = this.#sampleAhead(view);
    if (facing > seenCosine && ahead < 0 && ahead > -maxOverlap) {
      this.#addAhead(ahead, (share / overlapSpread) * facing * weight * trust, cutoff);
    }
    const near = 1 - smoothStep(colorDistances[0], colorDistances[1], Math.abs(ahead));
    const visible = weight * trust * smoothStep(colorCosines[0], colorCosines[1], facing) * near;
    if (visible <= 0.01) return;
    const factor = colorWeight * Math.sqrt(visible) * share;
    for (let c = 0; c < 3; c++) {
      sampleMap(view.colors, colorSize, this.#u, this.#v, this.#sample, c * colorSize * colorSize);
      const difference = (colors[color + c]! - this.#sample.value) / colorSpread;
      const slope = (-factor * softSlope(difference, 2)) / colorSpread;
      this.#add(factor * soft(difference, 2), slope * this.#sample.du, slope * this.#sample.dv, 0, 0, 0);
    }
    // How well a point is seen counts as constant in the slopes: following it makes steps too long.
    this.#cost -= visible * share * share * colorChance;
  }

  /** The guessed back is near the front that an opposite view shows. */
  #addBack(view: PreparedView, weight: number, cutoff: number): void {
    if (Math.abs(this.#u) >= 1 || Math.abs(this.#v) >= 1) return;
    sampleMap(view.trust, mapSize, this.#u, this.#v, this.#trust);
    const trust = this.#trust.value;
    if (trust > minTrust) this.#addAhead(this.#sampleAhead(view), weight * trust, cutoff);
  }

  /** Adds a residual. @param du its derivatives by position, depth and scale in the second view, and by its relief */
  #add(residual: number, du: number, dv: number, dz: number, dScale: number, dRelief: number): void {
    this.#cost += residual * residual;
    if (!this.#withSlopes) return;
    this.#setRow(du, dv, dz, dScale, dRelief);
    addResidual(this.equations, residual, this.#row);
  }

  /** Sets the derivatives by the numbers of both views. @param du those by position, depth and scale, and by relief */
  #setRow(du: number, dv: number, dz: number, dScale: number, dRelief: number): void {
    const row = this.#row;
    const to = this.#to;
    const pz = this.#pz;
    const byScale = dScale - (du * this.#u + dv * this.#v) / this.#scale;
    const gx = du / this.#scale;
    const gy = -dv / this.#scale;
    const gz = dz - to.halfTangent * byScale;
    this.#setFirst(gx, gy, gz);
    const second = perView;
    for (let angle = 0; angle < 3; angle++)
      row[second + YAW + angle] = this.#turned(this.#turns[3 + angle]!, gx, gy, gz);
    const relief = (this.#front.value + to.tiltU * this.#u + to.tiltV * this.#v) * to.reliefScale;
    row[second + X] = gx;
    row[second + Y] = gy;
    row[second + SIZE] = byScale * this.#toSize + dRelief * relief;
    row[second + OFFSET] = dRelief;
    row[second + RELIEF] = -dRelief * relief;
    row[second + TILT_U] = dRelief * this.#u * to.reliefScale;
    row[second + TILT_V] = dRelief * this.#v * to.reliefScale;
    row[LENS]! -= byScale * to.halfTangent * pz;
  }

  /** Sets the derivatives by the first view's numbers, and begins that of the lens. */
  #setFirst(gx: number, gy: number, gz: number): void {
    const row = this.#row;
    const turn = this.#turn;
    const { halfTangent, reliefOffset, reliefScale } = this.#from;
    const z = this.#q[2]!;
    const ax = turn[0]! * gx + turn[3]! * gy + turn[6]! * gz;
    const ay = turn[1]! * gx + turn[4]! * gy + turn[7]! * gz;
    const az = turn[2]! * gx + turn[5]! * gy + turn[8]! * gz;
    const byScale = ax * this.#rayU - ay * this.#rayV;
    const alongRay = this.#depthMoves ? az - halfTangent * byScale : 0;
    for (let angle = 0; angle < 3; angle++) row[YAW + angle] = this.#turned(this.#turns[angle]!, gx, gy, gz);
    row[X] = -ax;
    row[Y] = -ay;
    row[SIZE] = byScale * this.#fromSize + alongRay * (z - reliefOffset);
    row[OFFSET] = alongRay;
    row[RELIEF] = -alongRay * (z - reliefOffset);
    row[TILT_U] = alongRay * this.#rayU * reliefScale;
    row[TILT_V] = alongRay * this.#rayV * reliefScale;
    row[LENS] = -byScale * halfTangent * z;
  }

  #turned(m: Float64Array, gx: number, gy: number, gz: number): number {
    const [x, y, z] = [this.#q[0]!, this.#q[1]!, this.#q[2]!];
    return (
      gx * (m[0]! * x + m[1]! * y + m[2]! * z) +
      gy * (m[3]! * x + m[4]! * y + m[5]! * z) +
      gz * (m[6]! * x + m[7]! * y + m[8]! * z)
    );
  }
}

/** Limits a distance smoothly: it is nearly the same up to the limit, and at most the limit. */
export const soft = (distance: number, limit: number): number =>
  distance / Math.sqrt(1 + (distance / limit) * (distance / limit));

const softSlope = (distance: number, limit: number): number => {
  const root = Math.sqrt(1 + (distance / limit) * (distance / limit));
  return 1 / (root * root * root);
};

/**
 * Computes what the colors of a visible point cost if two photos are compared at random positions. Only colors that fit
 * better than that say that two views see the same.
 */
export function costByChance(a: ReliefPoints, b: ReliefPoints): number {
  let sum = 0;
  for (let k = 0; k < a.count; k++) {
    const other = (k * 7919 + 13) % b.count;
    for (let c = 0; c < 3; c++) {
      sum += soft((a.color[3 * k + c]! - b.color[3 * other + c]!) / colorSpread, 2) ** 2;
    }
  }
  return (colorWeight ** 2 * sum) / Math.max(a.count, 1);
}
