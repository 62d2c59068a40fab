import type { Runner } from '@gen3d/schema/dashboard';
import { dateTime, relativeTime } from '../format.js';
import { type Column, Table } from './table.js';

const columns: readonly Column[] = [
  { name: 'Machine' },
  { name: 'Device' },
  { name: 'Bundle' },
  { name: 'gen3d' },
  { name: 'Job' },
  { name: 'Heartbeat' },
];

/** Such as `1 busy, on gpu-1 and gpu-2`. */
export function runnersSummary(runners: readonly Runner[]): string {
  if (runners.length === 0) return 'jobs are not processed';
  const hosts = [...new Set(runners.map(({ host }) => host))];
  const location = hosts.length > 3 ? `on ${hosts.length} machines` : `on ${hosts.join(' and ')}`;
  return `${runners.filter(({ task_id }) => task_id !== null).length} busy, ${location}`;
}

/** The runners of all machines. Points out those of another version than the server's. */
export function Runners({ runners, serverVersion }: { runners: readonly Runner[]; serverVersion: string }) {
  if (runners.length === 0) {
    return (
      <p>
        No runner is active on any machine, so jobs wait. Start a worker with <code>gen3d worker</code>, or the server
        with <code>--workers 1</code>.
      </p>
    );
  }
  return (
    <Table columns={columns}>
      {runners.map((runner) => (
        <tr key={runner.runner_id}>
          <td class="full-row">
            <strong>{runner.host}</strong>
            <br />
            <span class="hint">since {dateTime(runner.started_at)}</span>
          </td>
          <td data-label="Device">
            {runner.device}
            {runner.instance !== runner.device && ` (instance ${runner.instance})`}
            {runner.adapter && <span class="hint"> {runner.adapter}</span>}
          </td>
          <td data-label="Bundle">{runner.bundle}</td>
          <td data-label="gen3d">
            {runner.version}
            {runner.version !== serverVersion && <span class="hint"> (this server: {serverVersion})</span>}
          </td>
          <td data-label="Job">{runner.task_id ? <code>{runner.task_id}</code> : 'none'}</td>
          <td data-label="Heartbeat">{relativeTime(runner.heartbeat_at)}</td>
        </tr>
      ))}
    </Table>
  );
}
