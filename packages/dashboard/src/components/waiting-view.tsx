import type { GalleryJob } from '@gen3d/schema/dashboard';
import { progress as milestones, phaseOf } from '@gen3d/schema/rules';
import { capitalized } from '../format.js';

/** The state of an unfinished job, such as `Number 3 in the queue`. */
function stateOf(job: GalleryJob): string {
  const { queue_position, progress, stage } = job;
  if (queue_position === null || progress === milestones.preparing) return capitalized(phaseOf(job, stage));
  return queue_position === 1 ? 'Next in the queue' : `Number ${queue_position} in the queue`;
}

/** An unfinished job: its photo, and the phase it is in. */
export function WaitingView({ job, photo }: { job: GalleryJob; photo: string | undefined }) {
  return (
    <div class="model waiting">
      {photo && <img src={photo} alt="As uploaded" />}
      <div class="overlay">
        <p role="status">{stateOf(job)}</p>
        <progress max={100} value={job.progress} aria-label="Progress" />
      </div>
    </div>
  );
}
