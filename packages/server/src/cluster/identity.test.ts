import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { databaseOf, newInstallation, newPostgresDatabase, onPostgres, temporaryFolder } from '../../test/kit.js';
import { openDatabase } from '../../test/open-database.js';
import { dataDirOf } from '../data/installation/data-dir.js';
import { identityOf } from './identity.js';

test('a copy of a database has another identity', async () => {
  const { database: location } = dataDirOf(await newInstallation());
  const db = openDatabase(location);
  const original = await identityOf(db, location);
  expect(await identityOf(db, location)).toEqual(original);
  await db.destroy();
  const copy = onPostgres
    ? await newPostgresDatabase(onTestFinished, new URL(location).pathname.slice(1))
    : join(temporaryFolder(), 'gen3d.sqlite');
  if (!onPostgres) copyFileSync(location, copy);
  const copied = databaseOf(copy);
  expect((await identityOf(copied, copy)).id).not.toBe(original.id);
});
