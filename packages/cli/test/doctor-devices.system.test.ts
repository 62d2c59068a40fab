import { mkdir, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { testFolder } from './run.js';

const { gen3d, path } = testFolder();
const nowhere = { GEN3D_BASE_URL: 'http://127.0.0.1:1' };
const providers = ['cuda', 'webgpu', 'coreml', 'dml', 'cpu'];

interface Doctor {
  healthy: boolean;
  findings: { topic: string; level: string; text: string }[];
  devices: { provider: string; problem?: string; takenByAuto: boolean; tests: { bundle: string; ms: number }[] }[];
}

const doctor = async (env: Record<string, string> = {}) =>
  JSON.parse((await gen3d(['doctor', '--json'], { env: { ...nowhere, ...env } })).stdout) as Doctor;

test('doctor shows the problem or the results of every device, and the one that auto uses', async () => {
  const { code, stdout } = await gen3d(['doctor'], { env: nowhere });
  const otherSystems = { coreml: 'darwin', dml: 'win32' };
  for (const provider of providers) {
    if (provider in otherSystems && otherSystems[provider as 'coreml' | 'dml'] !== process.platform) {
      expect(stdout).not.toContain(provider);
      continue;
    }
    const [row] = new RegExp(`^ +✔? +${provider} +(works|not used) .*$`, 'm').exec(stdout) ?? [];
    expect(row).toBeDefined();
    if (row?.includes('not used')) expect(stdout).toMatch(new RegExp(`^ +${provider}: .{10,}$`, 'm'));
  }
  expect(stdout).toMatch(/ cpu +works .*gen3d-base \d+ ms/);
  expect(stdout.match(/used by auto/g)).toHaveLength(1);
  expect(code).toBe(0);
});

test('doctor --json has the same devices', async () => {
  const { devices, healthy } = await doctor();
  expect(devices.map(({ provider }) => provider)).toEqual(providers);
  expect(devices.findIndex(({ takenByAuto }) => takenByAuto)).toBe(devices.findIndex(({ problem }) => !problem));
  expect(devices.at(-1)).toMatchObject({ provider: 'cpu', tests: [{ bundle: 'gen3d-base', ms: expect.any(Number) }] });
  expect(healthy).toBe(true);
});

test('the telemetry of onnxruntime is off in the process that inspects devices', async () => {
  await doctor();
  expect(process.env.ORT_DISABLE_TELEMETRY).toBe('1');
});

test('doctor reports a configured device that cannot be used as a problem', async () => {
  const absent = process.platform === 'win32' ? 'coreml' : 'dml';
  const { findings, healthy } = await doctor({ GEN3D_DEVICE: absent });
  expect(findings).toContainEqual({ topic: 'device', level: 'problem', text: expect.stringContaining(absent) });
  expect(healthy).toBe(false);
});

test.each(['missing', 'damaged'])('a %s bundle only lacks its self-test', async (state) => {
  await mkdir(path('models', 'damaged'), { recursive: true });
  await writeFile(path('models', 'damaged', 'manifest.json'), '{');
  const { devices } = await doctor({ GEN3D_BUNDLE: state, GEN3D_MODELS_DIR: path('models') });
  expect(devices.map(({ provider }) => provider)).toEqual(providers);
  expect(devices.at(-1)).toMatchObject({ provider: 'cpu', tests: [] });
});
