import type { Command } from 'commander';
import { type ServerOptions, withClient } from '../connection/client.js';
import { findJob, nameOf } from '../jobs/account-jobs.js';
import { resumeCommand } from '../jobs/job.js';
import { paint, print, printJson, say } from '../terminal/terminal.js';

export function addRetry(program: Command): void {
  program
    .command('retry')
    .summary('try a failed job again')
    .description('Create a new job with the photo of one that failed or was canceled. It costs as much as any job.')
    .argument('<id>', "the job's id, or a unique prefix of it")
    .option('--json', 'print { job_id } of the new job')
    .action((id: string, _: unknown, command: Command) => retry(id, command.optsWithGlobals()));
}

async function retry(id: string, { json, ...options }: ServerOptions & { json?: boolean }): Promise<void> {
  await withClient(options, async (client, signal) => {
    const job = await findJob(client, id, signal);
    // Repeating the request returns the same job.
    const created = await client.request('post', `/gen3d/jobs/${job.task_id}/retry`, { signal, repeatable: true });
    if (json) return printJson(created);
    const { job_id } = created as { job_id: string };
    print(job_id);
    say(paint('dim', `Trying ${nameOf(job)} again. To wait for the model: ${resumeCommand(job_id)}`));
  });
}
