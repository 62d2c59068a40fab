import type { StageTime } from '@gen3d/schema/dashboard';
import { milliseconds } from '../format.js';
import { stageLabels } from '../labels.js';

const sum = (stages: readonly StageTime[]) => stages.reduce((ms, stage) => ms + stage.ms, 0);

/**
 * Adds the time between the measured stages, so that all stages add up to `tookMs`: `queue` is the time outside of
 * preparation, inference and storing, and `load` is the part of inference that no stage accounts for.
 */
function withGaps(stages: readonly StageTime[], tookMs: number, inferenceMs: number): StageTime[] {
  const prepare = stages.filter(({ stage }) => stage === 'prepare');
  const store = stages.filter(({ stage }) => stage === 'store');
  const inference = stages.filter(({ stage }) => stage !== 'prepare' && stage !== 'store');
  return [
    { stage: 'queue', ms: Math.max(0, tookMs - inferenceMs - sum(prepare) - sum(store)) },
    ...prepare,
    { stage: 'load', ms: Math.max(0, inferenceMs - sum(inference)) },
    ...inference,
    ...store,
  ];
}

/** How long each stage of a job took, in order. Each bar begins where the previous one ends. */
export function StageTimes(props: { stages: readonly StageTime[]; tookMs: number; inferenceMs: number }) {
  const stages = withGaps(props.stages, props.tookMs, props.inferenceMs);
  const total = sum(stages) || 1;
  let elapsedMs = 0;
  return (
    <ol class="stages">
      {stages.map(({ stage, ms }) => {
        const x = (100 * elapsedMs) / total;
        elapsedMs += ms;
        return (
          <li key={stage}>
            <span>{stageLabels[stage] ?? stage}</span>
            <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
              <rect class="none" width="100" height="6" />
              <rect x={x} width={Math.max(0.7, (100 * ms) / total)} height="6" />
            </svg>
            <span class="number">{milliseconds(ms)}</span>
          </li>
        );
      })}
    </ol>
  );
}
