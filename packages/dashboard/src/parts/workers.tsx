import type { Runner } from '../api.js';
import { ago, when } from '../words.js';
import { type Column, Table } from './table.js';

const columns: readonly Column[] = [
  { name: 'Machine' },
  { name: 'Device' },
  { name: 'Instance' },
  { name: 'Model' },
  { name: 'gen3d' },
  { name: 'At work on' },
  { name: 'Heartbeat' },
];

/** `1 busy, on gpu-1 and gpu-2` */
export function workersInWords(runners: readonly Runner[]): string {
  if (runners.length === 0) return 'nobody makes models';
  const hosts = [...new Set(runners.map(({ host }) => host))];
  const where = hosts.length > 3 ? `on ${hosts.length} machines` : `on ${hosts.join(' and ')}`;
  return `${runners.filter(({ task_id }) => task_id !== null).length} busy, ${where}`;
}

/** The runners of all machines. `version` is the server's own, beside which another one is worth a word. */
export function Workers({ runners, version }: { runners: readonly Runner[]; version: string }) {
  if (runners.length === 0) {
    return (
      <p>
        No worker is at work, on no machine: jobs wait. Start one with <code>gen3d worker</code>, or the server with{' '}
        <code>--workers 1</code>.
      </p>
    );
  }
  return (
    <Table columns={columns}>
      {runners.map((runner) => (
        <tr key={runner.runner_id}>
          <td class="whole">
            <strong>{runner.host}</strong>
            <br />
            <span class="hint">since {when(runner.started_at)}</span>
          </td>
          <td data-label="Device">
            {runner.device}
            {runner.adapter && <span class="hint"> {runner.adapter}</span>}
          </td>
          <td data-label="Instance">{runner.instance}</td>
          <td data-label="Model">{runner.bundle}</td>
          <td data-label="gen3d">
            {runner.version}
            {runner.version !== version && <span class="hint"> (this server has {version})</span>}
          </td>
          <td data-label="At work on">{runner.task_id ? <code>{runner.task_id}</code> : 'nothing'}</td>
          <td data-label="Heartbeat">{ago(runner.heartbeat_at)}</td>
        </tr>
      ))}
    </Table>
  );
}
