// What a worker refuses before it has touched anything.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../src/config.js';
import { worker } from '../src/serve.js';
import { silent, temporaryFolder } from './kit.js';

const start = (settings: Record<string, unknown>) => worker(loadConfig({}, {}, settings), { log: silent });

test('a worker makes no database: it wants that of a server', async () => {
  const dataDir = temporaryFolder();
  await expect(start({ dataDir })).rejects.toThrow(
    `There is no server's database in ${dataDir}: name the server's with --database or --data-dir`,
  );
  await expect(start({ dataDir: join(dataDir, 'new') })).rejects.toThrow('There is no server');
  expect(readdirSync(dataDir)).toEqual([]);
});

test('a worker with no runners is refused', async () => {
  await expect(start({ dataDir: temporaryFolder(), workers: 0 })).rejects.toThrow(
    '--workers 0 (GEN3D_WORKERS) leaves a worker nothing to do',
  );
});
