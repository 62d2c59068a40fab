import { createInterface } from 'node:readline/promises';
import type { Gen3d } from '@gen3d/sdk';
import type { Command } from 'commander';
import { type ServerOptions, withClient } from '../connection/client.js';
import { exitCode, Failed } from '../exit/failure.js';
import { findJob, forEachJob, nameOf } from '../jobs/account-jobs.js';
import { printJson, say } from '../terminal/terminal.js';

export function addDelete(program: Command): void {
  program
    .command('delete')
    .alias('rm')
    .summary('delete jobs with their models and photos')
    .description('Delete jobs with their models, photos and names, for good. Links to the models stop working.')
    .argument('<id...>', "the jobs' ids, or unique prefixes of them")
    .option('-y, --yes', 'on a terminal, do not ask')
    .option('--json', 'print { job_id } of each deleted job, one object per line')
    .action((ids: string[], _: unknown, command: Command) => remove(ids, command.optsWithGlobals()));
}

async function remove(
  ids: readonly string[],
  { yes, json, ...options }: ServerOptions & { yes?: boolean; json?: boolean },
): Promise<void> {
  await withClient(options, async (client, signal) => {
    if (!yes && process.stdin.isTTY && !(await isConfirmed(client, ids, signal))) {
      throw new Failed(exitCode.failed, 'Deleted nothing');
    }
    await forEachJob(client, ids, signal, async (job) => {
      await client.jobs.delete(job.task_id, { signal });
      if (json) printJson({ job_id: job.task_id });
      else say(`Deleted ${nameOf(job)}`);
    });
  });
}

async function isConfirmed(client: Gen3d, ids: readonly string[], signal: AbortSignal): Promise<boolean> {
  const names: string[] = [];
  for (const id of ids) names.push(nameOf(await findJob(client, id, signal)));
  const question = `Delete ${names.join(', ')} for good? [y/N] `;
  // The terminal is not in raw mode, so Ctrl-C sends SIGINT.
  const reader = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      reader.question(question, { signal }).then(resolve, () => reject(signal.reason));
      // Ctrl-D closes the reader.
      reader.once('close', () => resolve(''));
    });
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    reader.close();
  }
}
