import { type Gen3d, NotFoundError, type Task } from '@gen3d/sdk';
import { exitCode } from './exit-code.js';
import { Failed } from './failure.js';

/**
 * The job that somebody named.
 *
 * @throws {Failed} if the account has no such job; the message says which, and where to look
 */
export function knownJob(client: Gen3d, id: string, signal: AbortSignal): Promise<Task> {
  return client.jobs.retrieve(id, { signal }).catch((error: unknown) => {
    // Without the API's own words, what answered is no gen3d server, and the message says that.
    if (!(error instanceof NotFoundError) || error.message !== 'No such job') throw error;
    throw new Failed(exitCode.failed, `There is no job ${id} in this account: \`gen3d list\` shows those there are`, {
      cause: error,
    });
  });
}
