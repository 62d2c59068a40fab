import { type OpenJob, OpenJobPage } from '@gen3d/schema/dashboard';
import { useState } from 'preact/hooks';
import { relativeTime } from '../format.js';
import { jobName } from '../jobs.js';
import { usePolling } from '../polling.js';
import { useSession } from '../session.js';
import { ConfirmButton } from './buttons.js';
import { Problem, Success, useAction } from './feedback.js';
import { StatusBadge } from './job-card.js';
import { actionsColumn, type Column, Table } from './table.js';

const columns: readonly Column[] = [
  { name: 'Account' },
  { name: 'Job' },
  { name: 'Status' },
  { name: 'Created' },
  actionsColumn,
];

/** Lists the unfinished jobs of all accounts, in pages. Calls `onCancel` after a job was canceled. */
export function OpenJobs({ onCancel }: { onCancel: () => void }) {
  const { api } = useSession();
  /** The cursors of the pages up to the one shown. */
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [page, setPage] = useState<OpenJobPage>({ jobs: [] });
  const [canceled, setCanceled] = useState(0);
  const { problem, success, run } = useAction();
  const cursor = cursors.at(-1);

  const loadProblem = usePolling(async () => {
    const query = new URLSearchParams(cursor === undefined ? {} : { cursor });
    const newPage = await api.get(`/operator/jobs?${query}`, OpenJobPage);
    setPage(newPage);
    return newPage.jobs.length > 0;
  }, `${cursor} ${canceled}`);

  const cancel = async (job: OpenJob) => {
    await run(() => api.send('POST', `/operator/jobs/${job.task_id}/cancel`), `${jobName(job)} was canceled.`);
    setCanceled((count) => count + 1);
    onCancel();
  };

  const { jobs, next_cursor } = page;
  return (
    <section>
      <h2>Open jobs</h2>
      <Problem text={problem ?? loadProblem} />
      {jobs.length === 0 ? (
        <p class="hint">No job is waiting or in progress.</p>
      ) : (
        <Table columns={columns}>
          {jobs.map((job) => (
            <tr key={job.task_id}>
              <td class="full-row">
                <strong>{job.account.name}</strong>
              </td>
              <td data-label="Job">
                {jobName(job)}
                <br />
                <code class="hint">{job.task_id}</code>
              </td>
              <td data-label="Status">
                <StatusBadge status={job.status} /> {job.progress} %
              </td>
              <td data-label="Created">{relativeTime(job.created_at)}</td>
              <td class="right">
                <ConfirmButton
                  small
                  label="Cancel the job"
                  ariaLabel={`Cancel the job ${jobName(job)}`}
                  question={`Cancel ${jobName(job)}?`}
                  consequence={`${job.account.name} gets no model for this photo, and is not charged.`}
                  onConfirm={() => void cancel(job)}
                />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <p class="row center">
        {cursor !== undefined && (
          <button type="button" onClick={() => setCursors(cursors.slice(0, -1))}>
            Previous page of jobs
          </button>
        )}
        {next_cursor !== undefined && (
          <button type="button" onClick={() => setCursors([...cursors, next_cursor])}>
            Next page of jobs
          </button>
        )}
      </p>
      <Success text={success} />
    </section>
  );
}
