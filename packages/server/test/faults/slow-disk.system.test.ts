// Commits, and the files of a model server, wait for the disk. The event loop must not wait with them.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { median } from '../../../../scripts/bench/figures.mjs';
import { playFailingJobs, slowDisk } from '../../../../scripts/bench/slow-disk.mjs';
import { ballPhoto } from '../ball-photo.js';
import { createJob, imageJob, newInstallation, readJob, site, temporaryFolder, until } from '../kit.js';
import { httpBundle } from '../model-server-kit.js';
import { firstApiKey, running, spawnServer } from './server-process.js';

const hasCompiler = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;
if (!hasCompiler) console.warn('slow disk: skipped, because this machine has no C compiler, or is not Linux');

test.runIf(hasCompiler)(
  'on a disk of 10 ms per sync, 50 failing jobs per second leave new clients most answers within 1 s',
  async () => {
    const env = slowDisk(temporaryFolder(), 10);
    const server = await running(spawnServer({ ...(await newInstallation()), workers: 1 }, env));
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

test.runIf(hasCompiler)(
  'while a slow disk takes what a model server returned, other requests do not wait',
  async () => {
    const writeMs = 200;
    const bytes = 16 * 1024 ** 2;
    const url = await site(({ headers }, response) => {
      // The server asks without a photo first, whether there is such an address.
      if (Number(headers['content-length']) < 1_000) response.writeHead(400).end();
      else response.end(Buffer.alloc(bytes));
    });
    const env = slowDisk(temporaryFolder(), writeMs);
    const server = await running(
      spawnServer({ ...(await newInstallation()), workers: 1, bundle: httpBundle(url) }, env),
    );
    const id = await createJob(server.call, imageJob(ballPhoto()));
    let longest = 0;
    const task = await until(async () => {
      const start = performance.now();
      const read = await readJob(server.call, id);
      longest = Math.max(longest, performance.now() - start);
      return read.finished_at !== null && read;
    });
    expect(task.error?.message).toMatch(/not a GLB/);
    // It arrives in 256 parts. An event loop that waits for the write of each answers after several of them.
    expect(longest).toBeLessThan(5 * writeMs);
  },
);
