import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BundleOverview } from '@gen3d/schema/dashboard';
import { describe, expect, test } from 'vitest';
import { writeBallBundle } from '../../engine/src/bundle/bundle.fixture.js';
import { chooseBundles } from '../src/index.js';
import { browsersOn } from './dashboard-kit.js';
import { adminOf, newInstallation, startServer } from './kit.js';

describe("the bundles of the server's machine", { tags: 'slow' }, () => {
  test('are listed for the operator: installed, in use and damaged ones', async () => {
    const installation = await newInstallation();
    const modelsDir = join(installation.dataDir, 'models');
    await mkdir(modelsDir);
    await chooseBundles(installation.dataDir, { bundle: 'ball' });
    const server = await startServer({ ...installation, bundle: undefined });
    await writeBallBundle(modelsDir, 'ball', { kind: 'planes' });
    await mkdir(join(modelsDir, 'broken'));
    await writeFile(join(modelsDir, 'broken', 'manifest.json'), '{');
    const admin = await adminOf(server);
    const operator = await browsersOn(
      () => server,
      () => admin,
    ).newOperator();
    const { body } = await operator.call('GET', '/operator/bundles');
    const { installed, damaged } = BundleOverview.parse(body);
    const inUse = installed.filter(({ in_use }) => in_use).map(({ name }) => name);
    expect(inUse.toSorted()).toEqual(['ball', server.config.matte]);
    expect(installed.length).toBeGreaterThan(2);
    expect(damaged).toEqual([{ name: 'broken', problem: expect.stringContaining('manifest.json') }]);
  });

  test('are out of reach of a member', async () => {
    const server = await startServer({});
    const { signIn } = browsersOn(
      () => server,
      () => {
        throw new Error('not needed');
      },
    );
    const member = await signIn({ api_key: server.apiKey });
    expect((await member.call('GET', '/operator/bundles')).status).toBe(403);
  });
});
