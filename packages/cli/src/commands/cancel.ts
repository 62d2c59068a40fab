import type { Command } from 'commander';
import { type ServerOptions, withClient } from '../connection/client.js';
import { forEachJob, nameOf } from '../jobs/account-jobs.js';
import { printJson, say } from '../terminal/terminal.js';

export function addCancel(program: Command): void {
  program
    .command('cancel')
    .summary('cancel jobs that are not finished')
    .description(
      'Cancel jobs that are not finished. A canceled job costs nothing. One in inference ends after its current step.',
    )
    .argument('<id...>', "the jobs' ids, or unique prefixes of them")
    .option('--json', 'print the canceled jobs, one object per line')
    .action((ids: string[], _: unknown, command: Command) => cancel(ids, command.optsWithGlobals()));
}

async function cancel(ids: readonly string[], { json, ...options }: ServerOptions & { json?: boolean }): Promise<void> {
  await withClient(options, (client, signal) =>
    forEachJob(client, ids, signal, async (job) => {
      const canceled = await client.jobs.cancel(job.task_id, { signal });
      if (json) printJson(canceled);
      else say(`Canceled ${nameOf(job)}`);
    }),
  );
}
