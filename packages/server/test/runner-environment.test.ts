// Runners decode untrusted images, so they must not have secrets that an image could steal.
import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { spawnServer } from './faults/server-process.js';
import { newInstallation } from './kit.js';

const secret = 'b0'.repeat(32);

test.runIf(process.platform === 'linux')('the environment of a runner contains no settings of gen3d', async () => {
  const settings = { ...(await newInstallation()), workers: 1 };
  const server = spawnServer(settings, {
    GEN3D_SERVER_KEY: secret,
    GEN3D_BOOTSTRAP_API_KEY: secret,
    TZ: 'Asia/Tokyo',
  });
  onTestFinished(() => server.kill());
  await server.ready;
  const environment = await readFile(`/proc/${server.runnerPid()}/environ`, 'utf8');
  expect(environment).toContain('TZ=Asia/Tokyo');
  expect(environment).not.toContain('GEN3D_');
  expect(environment).not.toContain(secret);
});
