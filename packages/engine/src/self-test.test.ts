import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeFlowModel } from '../../weights/src/skeleton/flow-model.fixture.js';
import { loadBundle } from './bundle/load-bundle.js';
import { selfTests } from './self-test.js';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gen3d-self-test-'));
});
afterAll(() => rm(folder, { recursive: true }));

test('a flow model runs, and is compared with the CPU on a GPU only', async () => {
  const bundle = await loadBundle(await writeFlowModel(folder));
  const { provider, tests } = await selfTests(bundle, 'cpu');
  expect(provider).toBe('cpu');
  const results: Array<[string, boolean | undefined]> = [];
  for (const { name, skipped, run } of tests) results.push([name, skipped ? undefined : (await run()).passed]);
  expect(results).toEqual([
    ['all outputs on cpu are finite and not all zero', true],
    ['a GPU gives the same results as the CPU', undefined],
  ]);
});

test('a bundle of another kind has the same checks', async () => {
  const bundle = await loadBundle(join(import.meta.dirname, '../../../models/gen3d-base'));
  const { tests } = await selfTests(bundle, 'cpu');
  expect(tests).toHaveLength(2);
  expect(await tests[0]!.run()).toMatchObject({ passed: true, detail: expect.stringContaining('occupancy') });
});
