// Errors before a worker changes anything.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../src/config.js';
import { worker } from '../src/index.js';
import { silent, temporaryFolder } from './kit.js';

const start = (settings: Record<string, unknown>) => worker(loadConfig({}, {}, settings), { log: silent });

test('a worker does not create a database', async () => {
  const dataDir = temporaryFolder();
  await expect(start({ dataDir })).rejects.toThrow(
    `${dataDir} has no database of a server. Name the server's with --database or --data-dir`,
  );
  await expect(start({ dataDir: join(dataDir, 'new') })).rejects.toThrow('has no database of a server');
  expect(readdirSync(dataDir)).toEqual([]);
});

test('a worker without runners is rejected', async () => {
  await expect(start({ dataDir: temporaryFolder(), workers: 0 })).rejects.toThrow(
    '--workers 0 (GEN3D_WORKERS) leaves a worker without runners',
  );
});
