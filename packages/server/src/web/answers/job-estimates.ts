import type { JobStatus } from '@gen3d/schema';
import type { JobEstimate } from '@gen3d/schema/rules';
import { cached } from '../../base/cached.js';
import type { JobStage } from '../../data/jobs/stage-times.js';

/** How many waiting jobs the positions look at. */
export const queueHeadSize = 200;

/** Returns how far an unfinished job is, for clients to show. Only stages of jobs on this machine are known. */
export type EstimateOf = (job: { id: string; status: JobStatus }) => Promise<JobEstimate>;

/**
 * @param runningStage returns the stage that the inference of a job has reached, if it runs on this machine
 * @param readQueueHead reads the ids of the first waiting jobs, in queue order. Called at most once per second
 */
export function jobEstimates(
  runningStage: (jobId: string) => JobStage | undefined,
  readQueueHead: () => Promise<string[]>,
): EstimateOf {
  const queueHead = cached(readQueueHead);
  return async ({ id, status }) => {
    const stage = runningStage(id);
    if (status === 'IN_PROGRESS') return stage === undefined ? {} : { stage };
    const head = await queueHead();
    // The job is too far behind, or newer than this reading of the queue.
    if (!head.includes(id) && head.length >= queueHeadSize) return {};
    const waiting = head.filter((waitingId) => runningStage(waitingId) === undefined);
    const index = waiting.indexOf(id);
    return { position: (index === -1 ? waiting.length : index) + 1 };
  };
}

/** Returns when a client should ask for an unfinished job again, in seconds. A job in inference may end at any time. */
export const pollSeconds = (status: JobStatus): number => (status === 'IN_PROGRESS' ? 1 : 2);
