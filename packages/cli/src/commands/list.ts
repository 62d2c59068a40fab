import { isTerminal, type JobStatus, jobStatuses, limits } from '@gen3d/sdk';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type ServerOptions, withClient } from '../connection/client.js';
import { type ListQuery, listJobs, type NamedTask } from '../jobs/account-jobs.js';
import { age, duration, shellWord, table } from '../terminal/format.js';
import { isInteractive, paint, print, printJson, say } from '../terminal/terminal.js';

interface ListOptions extends ServerOptions {
  readonly search?: string;
  readonly status?: JobStatus;
  readonly limit: number;
  readonly cursor?: string;
  readonly json?: boolean;
}

const { min, max } = limits.pageSize;

export function addList(program: Command): void {
  program
    .command('list')
    .alias('ls')
    .summary('list or search jobs, newest first')
    .description('List one page of your jobs, newest first.')
    .option('--search <text>', 'only jobs whose name contains this text')
    .addOption(new Option('--status <status>', 'only jobs with this status').choices(jobStatuses).argParser(jobStatus))
    .option('-n, --limit <number>', `the number of jobs, ${min} to ${max}`, pageSize, limits.pageSize.default)
    .option('--cursor <cursor>', 'the cursor from a previous page, to show the next one')
    .option('--json', "print { jobs, next_cursor } with the API's task objects, their names and times")
    .action((_: unknown, command: Command) => list(command.optsWithGlobals()));
}

/** Reads a status in upper or lower case, with a hyphen or space instead of the underscore. */
function jobStatus(text: string): JobStatus {
  const name = text.toUpperCase().replace(/[- ]/g, '_');
  const status = jobStatuses.find((status) => status === name);
  if (status) return status;
  throw new InvalidArgumentError(`Allowed choices are ${jobStatuses.join(', ')}.`);
}

function pageSize(text: string): number {
  const size = Number(text);
  if (Number.isInteger(size) && size >= min && size <= max) return size;
  throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
}

async function list({ search, status, limit, cursor, json, ...options }: ListOptions): Promise<void> {
  const query = { search, status, limit, cursor };
  await withClient(options, async (client, signal) => {
    const page = await listJobs(client, query, signal);
    if (json) return printJson(page);
    if (page.jobs.length > 0) {
      print(process.stdout.isTTY ? jobTable(page.jobs, Date.now()) : table(page.jobs.map(stableFields)));
    } else if (isInteractive()) {
      const isFiltered = search !== undefined || status !== undefined;
      say(paint('dim', isFiltered ? 'No such jobs' : 'No jobs yet. To create one: gen3d create photo.jpg --wait'));
    }
    if (page.next_cursor) say(paint('dim', `Next page: ${nextPageCommand({ ...query, cursor: page.next_cursor })}`));
  });
}

function nextPageCommand({ limit, cursor, ...values }: ListQuery): string {
  const options = { ...values, limit: limit === limits.pageSize.default ? undefined : limit, cursor };
  const words = Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name} ${shellWord(String(value))}`],
  );
  return ['gen3d list', ...words].join(' ');
}

/** Selects the fields of a job to print into a pipe. Scripts rely on their order. */
const stableFields = (task: NamedTask) => [
  task.task_id,
  task.status,
  `${task.progress} %`.padStart(5),
  task.created_at,
  task.error?.code ?? '',
  workTime(task),
  task.label ?? '',
];

/** Says how long the stages of a job took, without waiting. Empty if that is not known. */
const workTime = ({ work_seconds }: NamedTask) => (work_seconds == null ? '' : duration(1000 * work_seconds));

/** Longer names, in characters, would make the lines of a terminal wrap. */
const maxNameLength = 32;

const shortened = (name: string) => {
  const characters = Array.from(name);
  return characters.length > maxNameLength ? `${characters.slice(0, maxNameLength - 1).join('')}…` : name;
};

/**
 * Formats jobs as a table for a terminal, with ages, colors and the reasons of failures.
 *
 * @param now milliseconds since 1970
 */
export function jobTable(jobs: readonly NamedTask[], now: number): string {
  const rows = jobs.map((task) => [
    task.task_id,
    shortened(task.label ?? ''),
    state(task),
    age(now - Date.parse(task.created_at)),
    workTime(task),
    task.error?.code ?? '',
  ]);
  const [heading = '', ...lines] = table([['JOB', 'NAME', 'STATUS', 'CREATED', 'WORK', 'ERROR'], ...rows]).split('\n');
  return [paint('dim', heading), ...lines].join('\n');
}

function state({ status, progress }: NamedTask): string {
  if (status === 'SUCCEEDED') return paint('green', status);
  if (status === 'FAILED') return paint('red', status);
  return isTerminal(status) ? paint('dim', status) : paint('yellow', `${status} ${progress} %`);
}
