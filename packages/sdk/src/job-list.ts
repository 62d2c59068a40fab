import type { ListJobsResponse, Task } from '@gen3d/schema';

/**
 * An account's jobs, newest first. Pages are requested only when they are needed.
 *
 * @example
 * for await (const task of gen3d.jobs.list({ status: 'FAILED' })) console.log(task.task_id); // all jobs
 * const { jobs, next_cursor } = await gen3d.jobs.list({ limit: 20 }).page(); // one page
 */
export class JobList implements AsyncIterable<Task> {
  readonly #fetchPage: (cursor: string | undefined) => Promise<ListJobsResponse>;
  readonly #first: string | undefined;

  constructor(fetchPage: (cursor: string | undefined) => Promise<ListJobsResponse>, first: string | undefined) {
    this.#fetchPage = fetchPage;
    this.#first = first;
  }

  /** One page: the first one, or the one after a `next_cursor`. */
  page(cursor: string | undefined = this.#first): Promise<ListJobsResponse> {
    return this.#fetchPage(cursor);
  }

  /** All pages, each requested only after the previous one has been consumed. */
  async *pages(): AsyncGenerator<ListJobsResponse, void, undefined> {
    let cursor = this.#first;
    do {
      const page = await this.#fetchPage(cursor);
      yield page;
      cursor = page.next_cursor;
    } while (cursor !== undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Task, void, undefined> {
    for await (const { jobs } of this.pages()) yield* jobs;
  }
}
