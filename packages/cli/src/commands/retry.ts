import type { SamplerSettings } from '@gen3d/schema/rules';
import type { Command } from 'commander';
import { type ServerOptions, withClient } from '../connection/client.js';
import { forEachJob, nameOf } from '../jobs/account-jobs.js';
import { resumeCommand } from '../jobs/job.js';
import { addSamplerOptions, samplerOf } from '../jobs/model-options.js';
import { paint, print, printJson, say } from '../terminal/terminal.js';

export function addRetry(program: Command): void {
  const command = program
    .command('retry')
    .summary('try failed jobs again, or make models again')
    .description(
      'Create new jobs with the photos of finished ones, while the server keeps these photos.\n' +
        "The new jobs use the server's current bundle, and cost as much as any job.",
    )
    .argument('<id...>', "the jobs' ids, or unique prefixes of them")
    .option('--json', 'print { job_id } of each new job, one object per line');
  addSamplerOptions(command).action((ids: string[], _: unknown, command: Command) =>
    retry(ids, command.optsWithGlobals()),
  );
}

type RetryOptions = ServerOptions & SamplerSettings & { readonly json?: boolean };

async function retry(ids: readonly string[], { json, ...options }: RetryOptions): Promise<void> {
  const sampler = samplerOf(options);
  await withClient(options, (client, signal) =>
    forEachJob(client, ids, signal, async (job) => {
      const created = await client.jobs.retry(job.task_id, { sampler, signal });
      if (json) return printJson(created);
      print(created.job_id);
      say(paint('dim', `Trying ${nameOf(job)} again. To wait for the model: ${resumeCommand(created.job_id)}`));
    }),
  );
}
