// The Blender add-on in a real Blender without a window, against a real server.
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { discPng, site, testFolder } from './run.js';

const { path, run, serve, gen3d } = testFolder();
const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));
// Blender's importer needs numpy, which Debian's package of Blender only suggests.
const check = ['--background', '--factory-startup', '--python-exit-code', '1', '--python-expr', 'import numpy'];
const obstacle = spawnSync('blender', check).status === 0 ? '' : ' (skipped: blender with numpy not installed)';

/** Runs blender.py in Blender with a server's address and the key that its first start has stored. */
async function blender(url: string, env: Record<string, string> = {}) {
  const { servers } = JSON.parse(await readFile(path('config/profile.json'), 'utf8'));
  await writeFile(path('disc.png'), discPng());
  const args = ['--background', '--factory-startup', '--python-exit-code', '1', '--python', file('blender.py'), '--'];
  const { stdout, stderr } = await run(
    'blender',
    [...args, file('../../../examples/blender/gen3d_addon.py'), path('disc.png'), url, servers[url].apiKey],
    { BLENDER_USER_SCRIPTS: path('scripts'), ...env },
  );
  const [, results] = /^RESULTS (.*)$/m.exec(stdout) ?? [];
  if (!results) throw new Error(stdout + stderr);
  return JSON.parse(results);
}

test.skipIf(obstacle)(
  `the Blender add-on places models of files and images at the cursor, and says what is wrong${obstacle}`,
  async () => {
    const { url, child } = await serve();
    const keysElsewhere: unknown[] = [];
    const { url: elsewhere } = await site((request, response) => {
      keysElsewhere.push(request.headers.authorization);
      response.end('{}');
    });
    const { url: redirecting } = await site((_request, response) => {
      response.writeHead(302, { location: `${elsewhere}/v1/jobs` }).end();
    });
    const { url: deceiving } = await site((request, response) => {
      const task = { status: 'SUCCEEDED', progress: 100, model_urls: { glb: 'file:///etc/passwd' } };
      response.end(JSON.stringify(request.method === 'POST' ? { job_id: 'job' } : task));
    });
    const results = await blender(url, { REDIRECTING: redirecting, DECEIVING: deceiving });
    expect(results.redirecting).toMatchObject({
      meshes: 0,
      message: expect.stringContaining(`redirects to ${elsewhere}`),
    });
    expect(keysElsewhere).toEqual([]);
    expect(results.deceiving).toMatchObject({
      meshes: 0,
      message: expect.stringContaining('not an http or https address'),
    });
    for (const made of [results.file, results.image, results.sides]) {
      expect(made).toMatchObject({ message: '', meshes: 1, textured: true });
      const sides = made.high.map((high: number, axis: number) => high - made.low[axis]);
      expect(Math.max(...sides)).toBeCloseTo(0.5, 3);
      expect((made.low[0] + made.high[0]) / 2).toBeCloseTo(1, 3);
      expect((made.low[1] + made.high[1]) / 2).toBeCloseTo(2, 3);
      expect(made.low[2]).toBeCloseTo(3, 3);
    }
    const withSides = await gen3d(['get', results.sides.job, '--json'], { env: { GEN3D_BASE_URL: url } });
    expect(JSON.parse(withSides.stdout)).toMatchObject({ views: ['back'] });
    expect(results.sides.backAfterwards).toBe('');
    expect(results.refused).toMatch(/gen3d_addon\.py is not an image/);
    expect(results.key).toMatchObject({
      meshes: 0,
      message: expect.stringMatching(/API key is missing, wrong or revoked/),
    });
    expect(results.server).toMatchObject({
      meshes: 0,
      message: expect.stringMatching(/127\.0\.0\.1:1 cannot be used: .*refused/),
    });
    child.kill();
  },
);

test.skipIf(obstacle)(`canceling in Blender cancels the job on the server${obstacle}`, async () => {
  // Without workers, the job does not finish first.
  const { url, child } = await serve('--workers', '0', '--data-dir', path('other'));
  const { canceled } = await blender(url, { CANCEL: '1' });
  expect(canceled).toMatchObject({ message: 'Canceled', meshes: 0 });
  const got = await gen3d(['get', canceled.job, '--json'], { env: { GEN3D_BASE_URL: url } });
  expect(got.stderr).toBe('');
  expect(JSON.parse(got.stdout)).toMatchObject({ status: 'CANCELED' });
  child.kill();
});
