import type { JobStatus } from '@gen3d/schema';
import type { JobEstimate } from '@gen3d/schema/rules';
import { cached } from '../../base/cached.js';
import type { JobMessage } from '../../work/processes/messages.js';

/** How many waiting jobs the positions look at. */
export const queueHeadSize = 200;
/** More running jobs than any machine has. Jobs that another process takes over never report their end. */
const maxRunning = 1_000;

/** Says how far unfinished jobs are, for clients to show. The stages are those that this server's runners report. */
export class JobEstimates {
  readonly #stages = new Map<string, string>();
  readonly #queueHead: () => Promise<string[]>;

  /** @param readQueueHead reads the ids of the first waiting jobs, in queue order. Called at most once per second */
  constructor(readQueueHead: () => Promise<string[]>) {
    this.#queueHead = cached(readQueueHead);
  }

  record(message: JobMessage): void {
    if (message.type === 'finished' || message.type === 'left') this.#stages.delete(message.jobId);
    if (message.type !== 'stage') return;
    this.#stages.set(message.jobId, message.stage);
    const [oldest] = this.#stages.keys();
    if (oldest !== undefined && this.#stages.size > maxRunning) this.#stages.delete(oldest);
  }

  async estimate({ id, status }: { id: string; status: JobStatus }): Promise<JobEstimate> {
    const stage = this.#stages.get(id);
    if (status === 'IN_PROGRESS') return stage === undefined ? {} : { stage };
    const head = await this.#queueHead();
    // The job is too far behind, or newer than this reading of the queue.
    if (!head.includes(id) && head.length >= queueHeadSize) return {};
    const waiting = head.filter((waitingId) => !this.#stages.has(waitingId));
    const index = waiting.indexOf(id);
    return { position: (index === -1 ? waiting.length : index) + 1 };
  }
}

/** Returns when a client should ask for an unfinished job again, in seconds. A job in inference may end at any time. */
export const pollSeconds = (status: JobStatus): number => (status === 'IN_PROGRESS' ? 1 : 2);
