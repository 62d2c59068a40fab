import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BundleOverview } from '@gen3d/schema/dashboard';
import { describe, expect, onTestFinished, test } from 'vitest';
import { writeBallBundle } from '../../engine/src/bundle/bundle.fixture.js';
import { chooseBundles, openAdmin } from '../src/index.js';
import { browsersOn } from './dashboard-kit.js';
import { startServer, until } from './kit.js';

describe("the bundles of the server's machine", { tags: 'slow' }, () => {
  test('are listed for the operator: installed, in use and damaged ones', async () => {
    const server = await startServer({ bundle: undefined });
    const modelsDir = join(server.config.dataDir, 'models');
    await writeBallBundle(modelsDir, 'ball', { kind: 'planes' });
    await mkdir(join(modelsDir, 'broken'));
    await writeFile(join(modelsDir, 'broken', 'manifest.json'), '{');
    const admin = await openAdmin(server.config);
    onTestFinished(() => admin.close());
    const operator = await browsersOn(
      () => server,
      () => admin,
    ).newOperator();
    const overview = async () => BundleOverview.parse((await operator.call('GET', '/operator/bundles')).body);
    const isInUse = async (bundle: string) => (await overview()).installed.find(({ name }) => name === bundle)?.in_use;

    expect(await isInUse('ball')).toBe(false);
    expect((await overview()).damaged).toEqual([{ name: 'broken', problem: expect.stringContaining('manifest.json') }]);
    await chooseBundles(server.config.dataDir, { bundle: 'ball' });
    await until(() => isInUse('ball'));
    expect((await overview()).installed.filter(({ in_use }) => in_use)).toHaveLength(2); // and the matte
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
