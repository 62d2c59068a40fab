import type { ListJobsResponse, Task } from '@gen3d/schema';

/**
 * An account's jobs, newest first. Nothing is requested before it is used.
 *
 * @example
 * for await (const task of gen3d.jobs.list({ status: 'FAILED' })) console.log(task.task_id); // every job
 * const { jobs, next_cursor } = await gen3d.jobs.list({ limit: 20 }).page(); // one page, to page by hand
 */
export class JobList implements AsyncIterable<Task> {
  readonly #fetchPage: (cursor: string | undefined) => Promise<ListJobsResponse>;
  readonly #first: string | undefined;

  constructor(fetchPage: (cursor: string | undefined) => Promise<ListJobsResponse>, first: string | undefined) {
    this.#fetchPage = fetchPage;
    this.#first = first;
  }

  /** One page: the first, or the one that a `next_cursor` leads to. */
  page(cursor: string | undefined = this.#first): Promise<ListJobsResponse> {
    return this.#fetchPage(cursor);
  }

  /** Page after page, each requested when the one before has been used up. */
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
