import type { StageTime } from '@gen3d/schema/dashboard';
import { stageName } from '@gen3d/schema/rules';
import { capitalized, milliseconds } from '../format.js';

const sum = (stages: readonly StageTime[]) => stages.reduce((ms, stage) => ms + stage.ms, 0);

/**
 * How long each stage of a job took, in order. Each bar begins where the previous one ends. The rest of `tookMs` is the
 * queue.
 */
export function StageTimes(props: { stages: readonly StageTime[]; tookMs: number }) {
  const queue = { stage: 'queue', ms: Math.max(0, props.tookMs - sum(props.stages)) };
  const stages = [queue, ...props.stages];
  const total = sum(stages) || 1;
  let elapsedMs = 0;
  return (
    <ol class="stages">
      {stages.map(({ stage, ms }) => {
        const x = (100 * elapsedMs) / total;
        elapsedMs += ms;
        return (
          <li key={stage}>
            <span>{capitalized(stageName(stage))}</span>
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
