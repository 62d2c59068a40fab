import { mkdir, writeFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { testFolder } from './run.js';

const { gen3d, path } = testFolder();
const nowhere = { GEN3D_BASE_URL: 'http://127.0.0.1:1' };
const providers = ['cuda', 'webgpu', 'coreml', 'dml', 'cpu'];

interface Doctor {
  code: number | null;
  healthy: boolean;
  findings: { topic: string; level: string; text: string }[];
  devices: { provider: string; problem?: string; takenByAuto: boolean; tests: { bundle: string; ms: number }[] }[];
  models: { name: string }[];
}

async function doctor(env: Record<string, string> = {}): Promise<Doctor> {
  const { code, stdout } = await gen3d(['doctor', '--json'], { env: { ...nowhere, ...env } });
  return { code, ...JSON.parse(stdout) };
}

describe('the report of doctor', () => {
  let stdout: string;
  let code: number | null;
  beforeAll(async () => {
    ({ code, stdout } = await gen3d(['doctor'], { env: nowhere }));
  });

  test('shows the problem or the results of every device, and the one that auto uses', () => {
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

  test('comes from a process in which the telemetry of onnxruntime is off', () => {
    expect(process.env.ORT_DISABLE_TELEMETRY).toBe('1');
  });

  test('has tried a database in the data directory', () => {
    expect(stdout).toMatch(/✔ database +SQLite works in the data directory$/m);
  });

  test('shows the machine, and that no server responds', () => {
    expect(stdout).toMatch(/node +\d+\.\d+/);
    expect(stdout).toMatch(/no response from http:\/\/127\.0\.0\.1:1/);
    // It does not refer to itself.
    expect(stdout).not.toContain('`gen3d doctor`');
  });

  test('shows the licenses of each bundle with the path of its notice, and where larger bundles are', () => {
    expect(stdout).toMatch(
      /^ {2}isnet +code: Apache-2\.0; weights: .* non-commercial use only\. See \/.*isnet\/NOTICE\.md$/m,
    );
    expect(stdout).toMatch(
      /^ {2}gen3d-base +code: MIT; weights: MIT; training data: our own shapes \(MIT\), .*\. See /m,
    );
    expect(stdout).toMatch(/`gen3d models list` shows larger bundles, and docs\/bundles\.md compares them$/m);
  });
});

test('doctor --json has the same devices and the installed bundles, and continues after a damaged profile', async () => {
  await mkdir(path('damaged'));
  await writeFile(path('damaged', 'profile.json'), '{');
  const { code, devices, findings, models, healthy } = await doctor({ GEN3D_CONFIG_DIR: path('damaged') });
  expect(devices.map(({ provider }) => provider)).toEqual(providers);
  expect(devices.findIndex(({ takenByAuto }) => takenByAuto)).toBe(devices.findIndex(({ problem }) => !problem));
  expect(devices.at(-1)).toMatchObject({ provider: 'cpu', tests: [{ bundle: 'gen3d-base', ms: expect.any(Number) }] });
  const bundles = ['gen3d-base', 'isnet'].map((name) => expect.objectContaining({ name }));
  expect(models).toEqual(expect.arrayContaining(bundles));
  expect(findings.filter(({ level }) => level === 'problem')).toEqual([
    {
      topic: 'profile',
      level: 'problem',
      text: expect.stringMatching(/profile\.json is damaged\. Correct it, or rename it and run `gen3d login`$/),
    },
  ]);
  expect({ code, healthy }).toEqual({ code: 1, healthy: false });
});

test('doctor reports a bucket that cannot be reached as a problem', async () => {
  const s3 = { GEN3D_ASSETS: 's3://models/a', GEN3D_S3_ENDPOINT: 'http://127.0.0.1:9' };
  const { findings } = await doctor({ ...s3, AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_REGION: 'eu' });
  const text = expect.stringContaining('it cannot be reached (ECONNREFUSED)');
  expect(findings).toContainEqual({ topic: 'bucket', level: 'problem', text });
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
