import type { Gen3d } from '@gen3d/sdk';
import { exitCode, Failed, Interrupted } from '../../exit/failure.js';
import { resumeCommand } from '../../jobs/job.js';
import { modelPath } from '../../jobs/output-file.js';
import { isInteractive, openWithDefaultApp, paint, print, printJson, say } from '../../terminal/terminal.js';
import type { CreateOptions } from './item.js';
import { createJob, forEach, type Item, limitReached, unknownJobsHint } from './item.js';

/** Creates the jobs of `create` without --wait, and prints their ids. */
export async function createOnly(
  client: Gen3d,
  items: readonly Item[],
  { json, open }: CreateOptions,
  signal: AbortSignal,
): Promise<void> {
  let lastJob: string | undefined;
  let saidLimitReached = false;
  const onLimit = (reason: string) => {
    if (!saidLimitReached) say(limitReached(reason));
    saidLimitReached = true;
  };
  const work = async (item: Item, stop: AbortSignal) => {
    const created = await createJob(client, item, stop, onLimit);
    lastJob = created.job_id;
    if (json) printJson(created);
    else print(created.job_id);
  };
  const failures = await forEach(items, signal, say, work).catch((error: unknown) => {
    throw error instanceof Interrupted ? new Interrupted(unknownJobsHint(items)) : error;
  });
  const [only] = items.length === 1 ? items : [];
  if (isInteractive() && lastJob !== undefined) {
    const resume = resumeCommand(lastJob, only ? modelPath(only.photos.front) : 'FILE.glb');
    const list = only ? '' : 'To see the jobs: gen3d list. ';
    say(paint('dim', `${list}To wait for ${only ? 'the' : 'a'} model: ${resume}`));
  }
  if (open && lastJob !== undefined) {
    await openWithDefaultApp(`${client.baseUrl}/dashboard${only ? `/jobs/${lastJob}` : ''}`);
  }
  if (failures) throw new Failed(exitCode.failed);
}
