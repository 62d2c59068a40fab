import { type Gen3d, NotFoundError, type Task } from '@gen3d/sdk';
import { exitCode, Failed } from '../exit/failure.js';
import { writeOutput } from '../files/write-file.js';
import { shellWord } from '../terminal/format.js';
import { type WriteOptions, type WrittenModel, writeModel } from './model-file.js';
import { modelOptionWords } from './model-options.js';

/**
 * Retrieves the job with the id that the user gave.
 *
 * @throws {Failed} if the account has no such job, with a hint how to find it
 */
export function retrieveJob(client: Gen3d, id: string, signal: AbortSignal): Promise<Task> {
  return client.jobs.retrieve(id, { signal }).catch((error: unknown) => {
    // A 404 without a request id is not from a gen3d server. The SDK's message says so.
    if (!(error instanceof NotFoundError) || error.requestId === undefined) throw error;
    throw new Failed(exitCode.failed, `Job ${id} does not exist in this account. \`gen3d list\` shows your jobs`, {
      cause: error,
    });
  });
}

/** Writes the shell command that waits for a job and writes its model, including the options that affect the model. */
export function resumeCommand(jobId: string, path?: string, options: WriteOptions = {}): string {
  const output =
    path === undefined ? '' : ` -o ${shellWord(path)}${options.force ? ' -f' : ''}${modelOptionWords(options)}`;
  return `gen3d get ${shellWord(jobId)} --wait${output}`;
}

/**
 * Downloads the model or thumbnail of a finished job to a file, or to stdout for `-`.
 *
 * @throws {Failed} if the file cannot be written, with the command that downloads it to another path
 */
export async function downloadModel(
  client: Gen3d,
  task: Task,
  path: string,
  { asset, signal, ...options }: WriteOptions & { asset?: 'glb' | 'thumbnail'; signal: AbortSignal },
): Promise<WrittenModel> {
  const content = await client.download(task, { asset, signal });
  try {
    if (asset === 'thumbnail') await writeOutput(path, content, options.force);
    else return await writeModel(path, content, options);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const output = asset === 'thumbnail' ? '--thumbnail -o OTHER.jpg' : '-o OTHER.glb';
    const hint = `The model is finished. To download to another path: \`gen3d download ${shellWord(task.task_id)} ${output}\``;
    throw new Failed(exitCode.failed, `${error.message}. ${hint}`, { cause: error });
  }
  return { bytes: content.length, notes: [] };
}
