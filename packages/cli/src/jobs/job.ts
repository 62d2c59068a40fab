import { type Gen3d, NotFoundError, type Task } from '@gen3d/sdk';
import { exitCode, Failed } from '../exit/failure.js';
import { shellWord } from '../terminal/format.js';
import { writeOutput } from './output-file.js';

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

/** The command that waits for a job again and writes its model, ready to be pasted into a shell. */
export const resumeCommand = (jobId: string, path?: string): string =>
  `gen3d get ${jobId} --wait${path === undefined ? '' : ` -o ${shellWord(path)}`}`;

/**
 * Downloads a finished job's model (or thumbnail) into a file.
 *
 * @returns its size in bytes
 * @throws {Failed} if the file cannot be written; the model is still on the server, and the message says how to get it
 */
export async function fetchModel(
  client: Gen3d,
  task: Task,
  path: string,
  options: { asset?: 'glb' | 'thumbnail'; force?: boolean | undefined; signal: AbortSignal },
): Promise<number> {
  const content = await client.download(task, { asset: options.asset, signal: options.signal });
  try {
    await writeOutput(path, content, options.force);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const again = `The model is finished: \`gen3d download ${task.task_id} -o OTHER.glb\` fetches it again`;
    throw new Failed(exitCode.failed, `${error.message}. ${again}`, { cause: error });
  }
  return content.length;
}
