import { align } from './align.mjs';
import { KdTree } from './kd-tree.mjs';

/** Distances within which a point counts as correct, in a frame where the object's longest side is 2. */
export const tolerances = [0.05, 0.1, 0.2];

/**
 * Figures of one model. Distances are in the frame of the object, in [-1, 1], and not squared.
 *
 * @typedef {object} Comparison
 * @property {number} chamfer mean of two means: the distance from the model's points to the nearest of the object's, and
 *   the same the other way
 * @property {number[]} fScores for each of `tolerances`, the harmonic mean of the shares of the model's points and of the
 *   object's points that have a point of the other within it
 * @property {number} chamferSeen mean distance to the model from the object's points that the photo shows
 * @property {number} chamferUnseen the same of the other points
 * @property {number} colorSeen see `colorErrors`
 * @property {number} colorUnseen
 */

/**
 * Compares a model's surface with the object's, after aligning them (see `align`).
 *
 * @param {{ positions: Float32Array, colors: Uint8Array }} model as `sampleSurface` returns it
 * @param {import('./read-set.mjs').Surface} truth
 * @param {number} shown the bit in `truth.seen` of the photo that the model was made from
 * @returns {Comparison}
 */
export function compare(model, truth, shown) {
  const { aligned } = align(model.positions, truth.positions);
  const toTruth = new KdTree(truth.positions).nearest(aligned).distances;
  const toModel = new KdTree(aligned).nearest(truth.positions);
  /** @param {number} point */
  const isShown = (point) => (truth.seen[point] & shown) !== 0;
  const colors = colorErrors(truth.colors, model.colors, toModel.ids);
  return {
    chamfer: (meanWhere(toTruth) + meanWhere(toModel.distances)) / 2,
    fScores: tolerances.map((tolerance) => fScore(toTruth, toModel.distances, tolerance)),
    chamferSeen: meanWhere(toModel.distances, isShown),
    chamferUnseen: meanWhere(toModel.distances, (point) => !isShown(point)),
    colorSeen: meanWhere(colors, isShown),
    colorUnseen: meanWhere(colors, (point) => !isShown(point)),
  };
}

/** @type {(toTruth: Float32Array, toModel: Float32Array, tolerance: number) => number} */
function fScore(toTruth, toModel, tolerance) {
  const precision = meanWhere(toTruth.map((distance) => (distance <= tolerance ? 1 : 0)));
  const recall = meanWhere(toModel.map((distance) => (distance <= tolerance ? 1 : 0)));
  return precision + recall === 0 ? 0 : (2 * precision * recall) / (precision + recall);
}

/**
 * For each of the object's points, the distance of its paint from the model's color there: the mean over three
 * channels, sRGB in 0 to 1. The model's texture contains the photo's light and the paint does not, so the model's colors
 * are first multiplied by the one factor that matches their mean brightness to the paint's.
 *
 * @param {Uint8Array} paint [3·N]
 * @param {Uint8Array} modelColors [3·M]
 * @param {Uint32Array} nearest [N], the model's nearest point to each of the object's
 */
function colorErrors(paint, modelColors, nearest) {
  const count = nearest.length;
  let [paintSum, modelSum] = [0, 0];
  for (let i = 0; i < count; i++) {
    for (let c = 0; c < 3; c++) {
      paintSum += paint[3 * i + c];
      modelSum += modelColors[3 * nearest[i] + c];
    }
  }
  const gain = modelSum > 0 ? paintSum / modelSum : 1;
  const errors = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    for (let c = 0; c < 3; c++) {
      const color = Math.min(255, gain * modelColors[3 * nearest[i] + c]);
      errors[i] += Math.abs(color - paint[3 * i + c]) / (3 * 255);
    }
  }
  return errors;
}

/**
 * @param {Float32Array} values
 * @param {(index: number) => boolean} [isIncluded]
 */
function meanWhere(values, isIncluded = () => true) {
  let [sum, count] = [0, 0];
  for (let i = 0; i < values.length; i++) {
    if (!isIncluded(i)) continue;
    sum += values[i];
    count++;
  }
  return count === 0 ? 0 : sum / count;
}
