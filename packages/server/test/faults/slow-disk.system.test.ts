// What waits for the disk must not hold up the event loop: a member's failing jobs cost several commits each.
import { spawnSync } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { median } from '../../../../scripts/bench/figures.mjs';
import { playFailingJobs, slowDisk } from '../../../../scripts/bench/slow-disk.mjs';
import { newInstallation, temporaryFolder } from '../kit.js';
import { firstApiKey, spawnServer } from './server-process.js';

const hasCompiler = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;
if (!hasCompiler) console.warn('slow disk: skipped, because this machine has no C compiler, or is not Linux');

test.runIf(hasCompiler)(
  'on a disk of 10 ms per sync, 50 failing jobs per second leave new clients most answers within 1 s',
  async () => {
    const env = slowDisk(temporaryFolder(), 10);
    const server = spawnServer({ ...(await newInstallation()), workers: 1 }, env);
    onTestFinished(() => server.kill());
    const { reads, probes, creates } = await playFailingJobs({
      url: await server.ready,
      apiKey: firstApiKey,
      seconds: 8,
    });
    // The median, because other tests may run at the same time. An event loop that waits for each sync answers none of them.
    expect(median([...reads, ...probes])).toBeLessThan(1_000);
    // Each accepted job is on the disk, which takes a sync.
    expect(Math.min(...creates)).toBeGreaterThanOrEqual(10);
    expect(creates.length).toBeGreaterThan(300);
  },
);
