import type { GalleryJob } from '@gen3d/schema/dashboard';
import { progress as milestones, phaseOf } from '@gen3d/schema/rules';
import { capitalized, roundSeconds } from '../format.js';

/** The state of an unfinished job, such as `Number 3 in the queue`. */
function stateOf(job: GalleryJob): string {
  const { queue_position, progress, stage } = job;
  if (queue_position === null || progress === milestones.preparing) return capitalized(phaseOf(job, stage));
  return queue_position === 1 ? 'Next in the queue' : `Number ${queue_position} in the queue`;
}

function timeLeft(expectedSeconds: number | null): string {
  if (expectedSeconds === null) return '';
  return expectedSeconds === 0 ? 'Almost done' : `About ${roundSeconds(expectedSeconds)} left`;
}

/** An unfinished job: its photo, the phase it is in, and the time that it may still take. */
export function WaitingView({ job, photo }: { job: GalleryJob; photo: string | undefined }) {
  return (
    <div class="model waiting">
      {photo && <img src={photo} alt="As uploaded" />}
      <div class="overlay">
        <div class="row between">
          <p role="status">{stateOf(job)}</p>
          <p>{timeLeft(job.expected_seconds)}</p>
        </div>
        <progress max={100} value={job.progress} aria-label="Progress" />
      </div>
    </div>
  );
}
