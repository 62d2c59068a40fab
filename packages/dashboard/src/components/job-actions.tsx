import type { GalleryJob } from '@gen3d/schema/dashboard';
import { useLocation } from 'preact-iso';
import { cancelJob, retryJob, setHidden } from '../job-requests.js';
import { retryMayHelp } from '../labels.js';
import { useSession } from '../session.js';
import { ConfirmButton } from './confirm-button.js';

/** Cancels, repeats or hides a job. `act` runs a request, confirms it with a message, and reads the job again. */
export function JobActions(props: {
  job: GalleryJob;
  act: (request: () => Promise<unknown>, message: string) => void;
}) {
  const { api, account } = useSession();
  const { route } = useLocation();
  const { job, act } = props;
  const { task_id, hidden, can_cancel, can_retry } = job;
  const tryAgain = async () => route(`/dashboard/jobs/${await retryJob(api, task_id)}`);
  return (
    <div class="row">
      {can_retry && (
        <button type="button" class={retryMayHelp(job) ? 'primary' : undefined} onClick={() => act(tryAgain, '')}>
          Try again
        </button>
      )}
      {can_cancel && (
        <ConfirmButton
          label="Cancel the job"
          question="Cancel this job?"
          consequence="This photo does not become a model. A canceled job costs nothing."
          onConfirm={() => act(() => cancelJob(api, task_id), 'The job was canceled.')}
        />
      )}
      {account.sandbox ? undefined : hidden ? (
        <button
          type="button"
          onClick={() => act(() => setHidden(api, [task_id], false), 'The gallery shows this job again.')}
        >
          Show in the gallery
        </button>
      ) : (
        <button
          type="button"
          onClick={() => act(() => setHidden(api, [task_id], true), 'Hidden from the gallery. Its URLs stay valid.')}
        >
          Hide from the gallery
        </button>
      )}
    </div>
  );
}
