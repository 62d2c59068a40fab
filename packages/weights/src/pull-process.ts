// The process of `pullInProcess`.
import { setPriority } from 'node:os';
import { testBundle } from '@gen3d/engine';
import { type Handlers, parentChannel } from '@gen3d/rpc';
import { pullBundle } from './pull.js';
import type { Puller, PullObserver } from './pull-in-process.js';

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
