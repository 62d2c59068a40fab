import type { JobStatus } from '@gen3d/schema';
import type { JobEstimate } from '@gen3d/schema/rules';
import { cached } from '../../base/cached.js';
import type { JobStage } from '../../data/jobs/stage-times.js';

/** How many waiting jobs the positions look at. */
export const queueHeadSize = 200;

/** Estimates how far unfinished jobs are, for clients to show. Only stages of jobs on this machine are known. */
export class JobEstimates {
  readonly #runningStage: (jobId: string) => JobStage | undefined;
  readonly #queueHead: () => Promise<string[]>;

  /**
   * @param runningStage returns the stage that the inference of a job has reached, if it runs on this machine
   * @param readQueueHead reads the ids of the first waiting jobs, in queue order. Called at most once per second
   */
  constructor(runningStage: (jobId: string) => JobStage | undefined, readQueueHead: () => Promise<string[]>) {
    this.#runningStage = runningStage;
    this.#queueHead = cached(readQueueHead);
  }

  async estimate({ id, status }: { id: string; status: JobStatus }): Promise<JobEstimate> {
    const stage = this.#runningStage(id);
    if (status === 'IN_PROGRESS') return stage === undefined ? {} : { stage };
    const head = await this.#queueHead();
    // The job is too far behind, or newer than this reading of the queue.
    if (!head.includes(id) && head.length >= queueHeadSize) return {};
    const waiting = head.filter((waitingId) => this.#runningStage(waitingId) === undefined);
    const index = waiting.indexOf(id);
    return { position: (index === -1 ? waiting.length : index) + 1 };
  }
}

/** Returns when a client should ask for an unfinished job again, in seconds. A job in inference may end at any time. */
export const pollSeconds = (status: JobStatus): number => (status === 'IN_PROGRESS' ? 1 : 2);
