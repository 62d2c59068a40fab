import type { StageTime } from '../api.js';
import { milliseconds, stageWords } from '../words.js';

const outsideInference = new Set(['prepare', 'store']);
const sum = (stages: readonly StageTime[]) => stages.reduce((ms, stage) => ms + stage.ms, 0);

/**
 * The stages with what lies between them, so that all together are `tookMs`: the queue, which is what neither inference nor
 * the stages outside of it account for, and loading, which is what inference took beside its stages.
 */
function wholeTime(stages: readonly StageTime[], tookMs: number, inferenceMs: number): StageTime[] {
  const inference = stages.filter(({ stage }) => !outsideInference.has(stage));
  const outside = stages.filter(({ stage }) => outsideInference.has(stage));
  return [
    { stage: 'queue', ms: Math.max(0, tookMs - inferenceMs - sum(outside)) },
    ...outside.filter(({ stage }) => stage === 'prepare'),
    { stage: 'load', ms: Math.max(0, inferenceMs - sum(inference)) },
    ...inference,
    ...outside.filter(({ stage }) => stage === 'store'),
  ];
}

/** Where the time of a job went, in the order in which it did. The bars begin where the stage before ended. */
export function StageTimes(props: { stages: readonly StageTime[]; tookMs: number; inferenceMs: number }) {
  const stages = wholeTime(props.stages, props.tookMs, props.inferenceMs);
  const total = sum(stages) || 1;
  let before = 0;
  return (
    <ol class="stages">
      {stages.map(({ stage, ms }) => {
        const x = (100 * before) / total;
        before += ms;
        return (
          <li key={stage}>
            <span>{stageWords[stage] ?? stage}</span>
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
