/** The process in which a pull of the dashboard runs: it hashes gigabytes and opens networks. See background-pull.ts. */
import { setPriority } from 'node:os';
import { testBundle } from '@gen3d/engine';
import type { FromPull, PullRequest } from './background-pull.js';
import { pullBundle } from './pull.js';

const progressIntervalMs = 200;

setPriority(10);
// The server has ended.
process.on('disconnect', () => process.exit(1));

function send(message: FromPull, onSent: () => void = () => {}): void {
  if (process.connected) process.send?.(message, undefined, undefined, onSent);
}

process.once('message', async ({ name, ...folders }: PullRequest) => {
  let reportedAt = 0;
  try {
    await pullBundle(name, {
      ...folders,
      check: testBundle,
      onProgress: ({ received, total }) => {
        if (received < total && performance.now() - reportedAt < progressIntervalMs) return;
        reportedAt = performance.now();
        send({ type: 'progress', received, total });
      },
    });
    send({ type: 'done' }, () => process.exit(0));
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    send({ type: 'failed', problem }, () => process.exit(1));
  }
});
