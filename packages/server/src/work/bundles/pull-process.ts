/** The dashboard's pulls run in this process, because they hash gigabytes and open networks. See background-pull.ts. */
import { setPriority } from 'node:os';
import { testBundle } from '@gen3d/engine';
import { type Handlers, parentChannel } from '@gen3d/engine/rpc';
import { pullBundle } from '@gen3d/weights';
import type { Puller, PullObserver } from './background-pull.js';

const progressIntervalMs = 200;

setPriority(10);

const server = parentChannel<PullObserver>({
  async pull({ name, ...folders }) {
    let reportedAt = 0;
    await pullBundle(name, {
      ...folders,
      check: testBundle,
      onProgress: ({ received, total }) => {
        if (received < total && performance.now() - reportedAt < progressIntervalMs) return;
        reportedAt = performance.now();
        server.notify('progress', { received, total });
      },
    });
  },
} satisfies Handlers<Puller>);
