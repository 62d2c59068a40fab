// Native addons that cannot be loaded, for example because they were built for another version of Node.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../engine/src/temporary-folder.fixture.js';
import { testFolder } from './run.js';

const { spawned } = testFolder();

const failingAddon = fileURLToPath(new URL('../../server/test/failing-addon.cjs', import.meta.url));
const preloads = temporaryFolder(afterAll);
/** The name of the addon is in a file, because runners get few variables of the server. */
function without(addon: string) {
  const preload = join(preloads, `${addon}.cjs`);
  writeFileSync(preload, `process.env.FAILING_ADDON = '${addon}'; require(${JSON.stringify(failingAddon)});`);
  return { NODE_OPTIONS: `--require "${preload.replaceAll('\\', '/')}"`, GEN3D_BASE_URL: 'http://127.0.0.1:1' };
}

const addons: readonly (readonly [addon: string, name: string])[] = [
  ['sharp', 'sharp'],
  ['onnxruntime', 'onnxruntime-node'],
  ['better_sqlite3', 'better-sqlite3'],
];

describe.each(addons)('without the addon of %s', (addon, name) => {
  const env = without(addon);
  const fix = `it was built for another version of Node than ${process.version}. Run \`npm rebuild ${name}\` with this version`;

  test('serve exits with one sentence that names the fix', async () => {
    const { code, stdout, stderr } = await spawned(['serve', '--port', '0'], { env });
    expect(stderr.trim().split('\n').at(-1)).toMatch(/^error: /);
    expect(stderr).toContain(`${fix}\n`);
    expect(stderr).not.toMatch(/bug in gen3d|^ +at /m);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  });

  test('doctor names the fix and continues', async () => {
    const { code, stdout } = await spawned(['doctor', '--json'], { env });
    const { findings, models } = JSON.parse(stdout) as { findings: { level: string; text: string }[]; models: [] };
    expect(findings).toContainEqual(expect.objectContaining({ level: 'problem', text: expect.stringContaining(fix) }));
    expect(models.length).toBeGreaterThan(0);
    expect(code).toBe(1);
  });
});

test('other commands exit with one sentence, too', async () => {
  const { code, stderr } = await spawned(['models', 'list'], { env: without('onnxruntime') });
  expect(stderr).toMatch(/^error: onnxruntime-node cannot be loaded: .*\n$/);
  expect(code).toBe(1);
});
