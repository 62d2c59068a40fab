import type { Command } from 'commander';
import { type ServerOptions, withClient } from '../connection/client.js';
import { forEachJob, nameOf } from '../jobs/account-jobs.js';
import { resumeCommand } from '../jobs/job.js';
import { paint, print, printJson, say } from '../terminal/terminal.js';

export function addRetry(program: Command): void {
  program
    .command('retry')
    .summary('try failed jobs again')
    .description('Create new jobs with the photos of jobs that failed or were canceled. They cost as much as any job.')
    .argument('<id...>', "the jobs' ids, or unique prefixes of them")
    .option('--json', 'print { job_id } of each new job, one object per line')
    .action((ids: string[], _: unknown, command: Command) => retry(ids, command.optsWithGlobals()));
}

async function retry(ids: readonly string[], { json, ...options }: ServerOptions & { json?: boolean }): Promise<void> {
  await withClient(options, (client, signal) =>
    forEachJob(client, ids, signal, async (job) => {
      const created = await client.jobs.retry(job.task_id, { signal });
      if (json) return printJson(created);
      print(created.job_id);
      say(paint('dim', `Trying ${nameOf(job)} again. To wait for the model: ${resumeCommand(created.job_id)}`));
    }),
  );
}
