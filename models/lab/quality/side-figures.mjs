import { average, median, quantile, row } from '../../../scripts/bench/figures.mjs';

/** @typedef {import('./read-set.mjs').Side} Side */
/**
 * The camera that the engine found for a photo. Azimuths count from any direction.
 *
 * @typedef {{ side: Side, used: boolean, yawRadians: number, elevationRadians: number }} FoundView
 */
/** @typedef {{ side: Side, used: boolean, yawDegrees: number, elevationDegrees: number }} CameraError errors, not negative */
/**
 * @typedef {object} SideResult
 * @property {string} object
 * @property {number | string} view the sides that the photos show, such as `front+left`
 * @property {number} chamfer
 * @property {number[]} fScores
 * @property {number} iou
 * @property {boolean} watertight
 * @property {number} parts of the model
 * @property {number} regions of the front photo's outline
 * @property {string} [failed]
 * @property {number} [seconds]
 * @property {CameraError[]} [cameras]
 */

/** A model is farther from the truth than another if its Chamfer distance is larger by this factor. */
const farther = 1.1;

const degrees = 180 / Math.PI;

/**
 * Compares the cameras of all photos but the front with the true ones. A turn counts from the front photo, whose own
 * direction no photo shows.
 *
 * @param {readonly FoundView[]} found
 * @param {Record<Side, import('./read-set.mjs').SidePhoto>} truth
 * @returns {CameraError[]}
 */
export function cameraErrors(found, truth) {
  const front = found.find(({ side }) => side === 'front');
  if (!front) return [];
  return found
    .filter((view) => view !== front)
    .map(({ side, used, yawRadians, elevationRadians }) => {
      const turn = truth[side].view.yawDegrees - truth.front.view.yawDegrees;
      const yaw = (yawRadians - front.yawRadians) * degrees - turn;
      return {
        side,
        used,
        yawDegrees: Math.abs(yaw - 360 * Math.round(yaw / 360)),
        elevationDegrees: Math.abs(elevationRadians * degrees - truth[side].view.elevationDegrees),
      };
    });
}

/**
 * Prints models of several photos beside those of the front alone.
 *
 * @param {readonly SideResult[]} results of one bundle
 * @param {string} bundle
 */
export function printSides(results, bundle) {
  const views = [...new Set(results.map(({ view }) => view))];
  /** @type {(view: number | string) => readonly SideResult[]} */
  const of = (view) => results.filter((result) => result.view === view);
  const front = of('front');
  const chamferOfFront = new Map(front.map(({ object, chamfer }) => [object, chamfer]));
  console.log(`\n${bundle}, ${front.length} objects:\n`);
  row(
    ...[
      'photos',
      'Chamfer',
      'of one',
      'F@0.05',
      'F@0.1',
      'silhouette',
      'nearer',
      '10 % farther',
      'closed',
      'one part',
      'failed',
    ],
    ...['yaw off: median', '9 of 10', 'turns within 8°', 'elevation off: median', 'left out', 'seconds'],
  );
  row('---', ...Array(16).fill('--:'));
  for (const view of views) {
    const own = of(view);
    const chamfer = average(own.map((result) => result.chamfer));
    const ratios = own.map((result) => result.chamfer / (chamferOfFront.get(result.object) ?? Number.NaN));
    const whole = own.filter(({ regions }) => regions === 1);
    const cameras = own.flatMap((result) => result.cameras ?? []);
    const yaws = cameras.filter(({ used }) => used).map(({ yawDegrees }) => yawDegrees);
    const elevations = cameras.filter(({ used }) => used).map(({ elevationDegrees }) => elevationDegrees);
    row(
      String(view).replaceAll('+', ', '),
      chamfer.toFixed(4),
      (chamfer / average(front.map((result) => result.chamfer))).toFixed(2),
      ...[0, 1].map((index) => average(own.map(({ fScores }) => fScores[index])).toFixed(3)),
      average(own.map(({ iou }) => iou)).toFixed(3),
      view === 'front' ? '' : ratios.filter((ratio) => ratio < 1).length,
      view === 'front' ? '' : ratios.filter((ratio) => ratio > farther).length,
      `${own.filter(({ watertight }) => watertight).length} of ${own.length}`,
      `${whole.filter(({ parts }) => parts === 1).length} of ${whole.length}`,
      own.filter(({ failed }) => failed).length,
      ...(cameras.length === 0
        ? ['', '', '', '', '']
        : [
            `${median(yaws).toFixed(1)}°`,
            `${quantile(yaws, 0.9).toFixed(1)}°`,
            `${yaws.filter((yaw) => yaw <= 8).length} of ${cameras.length}`,
            `${median(elevations).toFixed(1)}°`,
            cameras.filter(({ used }) => !used).length,
          ]),
      average(own.flatMap(({ seconds }) => seconds ?? [])).toFixed(1),
    );
  }
  for (const view of views) {
    const list = of(view)
      .filter(({ object, chamfer }) => chamfer > farther * (chamferOfFront.get(object) ?? Infinity))
      .map(({ object, chamfer }) => `${object} (${chamfer.toFixed(3)}, not ${chamferOfFront.get(object)?.toFixed(3)})`);
    if (list.length > 0)
      console.log(`\nMore than 10 % farther with ${String(view).replaceAll('+', ', ')}: ${list.join(', ')}.`);
  }
}
