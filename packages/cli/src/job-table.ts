import { isTerminal, type Task } from '@gen3d/sdk';
import { age, duration, table } from './format.js';
import { paint } from './terminal.js';

/**
 * Jobs for a person's eyes: a heading, ages instead of times, colours, and why one failed.
 *
 * @param now milliseconds since 1970, by this machine's clock
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
