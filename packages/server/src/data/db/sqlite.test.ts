import { expect, test } from 'vitest';
import { temporaryDatabase } from '../../../test/kit.js';
import { ConfigError } from '../../base/errors.js';
import { sqlite } from './sqlite.js';

// As reported on a bindfs mount with direct_io, and on NFS without locks.
test.each([
  ['SQLITE_IOERR_SHMMAP', 'disk I/O error'],
  ['SQLITE_PROTOCOL', 'locking protocol'],
])('a file system on which SQLite fails with %s is named with what to do', async (code, message) => {
  const error = Object.assign(new Error(message), { code });
  const explained = await sqlite.explain(error, await temporaryDatabase(), '/mnt/share/gen3d.sqlite');
  expect(explained).toBeInstanceOf(ConfigError);
  expect(explained?.message).toContain(`SQLite cannot work in /mnt/share (${message})`);
  expect(explained?.message).toMatch(/Put --data-dir on a local disk .* or use --database postgres:/);
});
