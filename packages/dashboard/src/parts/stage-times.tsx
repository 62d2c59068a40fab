import type { StageTime } from '../api.js';
import { milliseconds, stageWords } from '../words.js';

/** How long each stage took, in the order in which they came. The bars begin where the stage before ended. */
export function StageTimes({ stages }: { stages: readonly StageTime[] }) {
  const total = stages.reduce((sum, { ms }) => sum + ms, 0) || 1;
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
