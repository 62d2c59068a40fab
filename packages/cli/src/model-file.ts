import type { Gen3d, Task } from '@gen3d/sdk';
import { exitCode } from './exit-code.js';
import { Failed } from './failure.js';
import { writeOutput } from './output-file.js';

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
