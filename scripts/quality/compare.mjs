import { align } from './align.mjs';
import { KdTree } from './kd-tree.mjs';

/** Distances at which a point counts as right, in a frame where the object's longest side is 2. */
export const tolerances = [0.05, 0.1, 0.2];

/**
 * How near a model's surface comes to the object's, once it lies where it fits best (see `align`).
 *
 * @param model `{ positions, colors }` as `sampleSurface` gives them
 * @param truth `{ positions, colors, seen }` as `readSet` gives them
 * @param view which of the object's photos the model was made from: 1 or 2
 * @returns `chamfer`: mean of (mean distance from the model's points to the nearest of the object's) and (the same the other
 *          way), not squared; `fScores`, one for each of `tolerances`: harmonic mean of the shares of the model's points and of
 *          the object's points that have one of the other's within it; `chamferSeen` and `chamferUnseen`: mean distance from
 *          the object's points that the photo shows, or does not, to the model; `colorSeen` and `colorUnseen`: see `colorErrors`
 */
export function compare(model, truth, view) {
  const { placed } = align(model.positions, truth.positions);
  const toTruth = new KdTree(truth.positions).nearest(placed).distances;
  const toModel = new KdTree(placed).nearest(truth.positions);
  const shown = (point) => (truth.seen[point] & view) !== 0;
  const colors = colorErrors(truth.colors, model.colors, toModel.ids);
  return {
    chamfer: (meanWhere(toTruth) + meanWhere(toModel.distances)) / 2,
    fScores: tolerances.map((tolerance) => fScore(toTruth, toModel.distances, tolerance)),
    chamferSeen: meanWhere(toModel.distances, shown),
    chamferUnseen: meanWhere(toModel.distances, (point) => !shown(point)),
    colorSeen: meanWhere(colors, shown),
    colorUnseen: meanWhere(colors, (point) => !shown(point)),
  };
}

function fScore(toTruth, toModel, tolerance) {
  const precision = meanWhere(toTruth.map((distance) => (distance <= tolerance ? 1 : 0)));
  const recall = meanWhere(toModel.map((distance) => (distance <= tolerance ? 1 : 0)));
  return precision + recall === 0 ? 0 : (2 * precision * recall) / (precision + recall);
}

/**
 * For each of the object's points, how far its paint is from the model's colour there: mean of the three channels' distances,
 * sRGB in 0..1. The photo's light is in the model's texture but not in the paint, so the model's colours are first multiplied
 * by the one factor that brings their mean brightness to the paint's.
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

function meanWhere(values, which = () => true) {
  let [sum, count] = [0, 0];
  for (let i = 0; i < values.length; i++) {
    if (!which(i)) continue;
    sum += values[i];
    count += 1;
  }
  return count === 0 ? 0 : sum / count;
}
