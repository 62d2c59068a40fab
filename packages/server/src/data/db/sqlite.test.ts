import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit.js';
import { ConfigError } from '../../base/errors.js';
import { explained } from './sqlite.js';

// As reported on a bindfs mount with direct_io, and on NFS without locks.
test.each([
  ['SQLITE_IOERR_SHMMAP', 'disk I/O error'],
  ['SQLITE_PROTOCOL', 'locking protocol'],
])('a file system on which SQLite fails with %s is named with what to do', (code, message) => {
  const error = explained('/mnt/share/gen3d.sqlite', Object.assign(new Error(message), { code }));
  expect(error).toBeInstanceOf(ConfigError);
  expect(error?.message).toContain(`SQLite cannot work in /mnt/share (${message})`);
  expect(error?.message).toMatch(/Put --data-dir on a local disk .* or use --database postgres:/);
});

test('a folder in the place of the database is named as such', () => {
  const folder = temporaryFolder();
  // SQLite cannot read it.
  const error = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_READ' });
  expect(explained(folder, error)?.message).toMatch(/gen3d-[\w-]+ is a folder\. Move it/);
});
