import { isTerminal, type JobStatus, jobStatuses, limits, type Task } from '@gen3d/sdk';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type ServerOptions, withClient } from '../connection/client.js';
import { age, duration, table } from '../terminal/format.js';
import { isInteractive, paint, print, printJson, say } from '../terminal/terminal.js';

interface ListOptions extends ServerOptions {
  readonly status?: JobStatus;
  readonly limit: number;
  readonly cursor?: string;
  readonly json?: boolean;
}

const { min, max } = limits.pageSize;

export function addList(program: Command): void {
  program
    .command('list')
    .summary('list jobs, newest first')
    .description('List one page of your jobs, newest first.')
    .addOption(new Option('--status <status>', 'only jobs with this status').choices(jobStatuses))
    .option('--limit <number>', `the number of jobs, ${min} to ${max}`, pageSize, limits.pageSize.default)
    .option('--cursor <cursor>', 'the cursor from a previous page, to show the next one')
    .option('--json', "print the API's object: { jobs, next_cursor }")
    .action((_: unknown, command: Command) => list(command.optsWithGlobals()));
}

function pageSize(text: string): number {
  const size = Number(text);
  if (Number.isInteger(size) && size >= min && size <= max) return size;
  throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
}

async function list({ status, limit, cursor, json, ...options }: ListOptions): Promise<void> {
  await withClient(options, async (client, signal) => {
    const page = await client.jobs.list({ status, limit, cursor }, { signal }).page();
    if (json) return printJson(page);
    if (page.jobs.length > 0) {
      print(process.stdout.isTTY ? jobTable(page.jobs, Date.now()) : table(page.jobs.map(stableFields)));
    } else if (isInteractive()) {
      const hint = 'No jobs yet. To create one: gen3d create photo.jpg --wait';
      say(paint('dim', status ? `No jobs with status ${status}` : hint));
    }
    if (page.next_cursor) say(paint('dim', `Next page: gen3d list --cursor ${page.next_cursor}`));
  });
}

/** The fields of a job for pipes. Scripts rely on their order. */
const stableFields = ({ task_id, status, progress, created_at, error }: Task) => [
  task_id,
  status,
  `${progress} %`.padStart(5),
  created_at,
  error?.code ?? '',
];

/**
 * Jobs as a table for a terminal, with ages, colors and the reasons of failures.
 *
 * @param now milliseconds since 1970
 */
export function jobTable(jobs: readonly Task[], now: number): string {
  const rows = jobs.map((task) => [task.task_id, state(task), age(now - Date.parse(task.created_at)), outcome(task)]);
  const [heading = '', ...lines] = table([['JOB', 'STATUS', 'CREATED', 'OUTCOME'], ...rows]).split('\n');
  return [paint('dim', heading), ...lines].join('\n');
}

function state({ status, progress }: Task): string {
  if (status === 'SUCCEEDED') return paint('green', status);
  if (status === 'FAILED') return paint('red', status);
  return isTerminal(status) ? paint('dim', status) : paint('yellow', `${status} ${progress} %`);
}

function outcome({ error, created_at, finished_at }: Task): string {
  if (error) return error.code;
  return finished_at ? `took ${duration(Date.parse(finished_at) - Date.parse(created_at))}` : '';
}
