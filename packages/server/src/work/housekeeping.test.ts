import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDatabase, temporaryFolder, until } from '../../test/kit.js';
import { FolderAssetStore } from '../data/assets/folder-store.js';
import { FolderInputStore } from '../data/inputs/folder-store.js';
import { startHousekeeping } from './housekeeping.js';

test('a step that fails is logged, and the following steps run', async () => {
  const db = await temporaryDatabase();
  const inputs = new FolderInputStore(temporaryFolder());
  rmSync(inputs.folder, { recursive: true });
  const assets = new FolderAssetStore(temporaryFolder());
  const attempt = join(assets.folder, 'JOB', 'RANDOM');
  mkdirSync(attempt, { recursive: true });
  const marker = join(assets.folder, '.unsettled', 'JOB.RANDOM');
  mkdirSync(dirname(marker));
  writeFileSync(marker, '');
  utimesSync(marker, 1, 1);
  const logged: { step?: string }[] = [];
  const log = pino({ level: 'error' }, { write: (line) => void logged.push(JSON.parse(line)) });
  onTestFinished(startHousekeeping({ db, inputs, assets }, { keepPhotosDays: 7 }, log));
  await until(async () => readdirSync(dirname(marker)).length === 0);
  expect(logged).toMatchObject([{ step: 'inputs', msg: 'housekeeping failed' }]);
});

test('a step that is still running when the server stops logs no error', async () => {
  const db = await temporaryDatabase();
  const assets = new FolderAssetStore(temporaryFolder());
  let endSweep: (() => void) | undefined;
  assets.sweep = () =>
    new Promise((resolve) => {
      endSweep = resolve;
    });
  const lines: string[] = [];
  const log = pino({ level: 'error' }, { write: (line) => void lines.push(line) });
  const stop = startHousekeeping(
    { db, inputs: new FolderInputStore(temporaryFolder()), assets },
    { keepPhotosDays: 7 },
    log,
  );
  const end = await until(async () => endSweep);
  stop();
  await db.destroy();
  end();
  // The step continues with a query to the closed database.
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(lines).toEqual([]);
});
