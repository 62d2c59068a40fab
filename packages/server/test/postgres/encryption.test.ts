import pino from 'pino';
import { expect, test } from 'vitest';
import { isUnencrypted } from '../../src/cluster/postgres/connections.js';
import { newPostgresDatabase, startServer, temporaryFolder } from '../kit.js';

test.each([
  ['postgres://gen3d@db.example.com/gen3d', true],
  ['postgres://gen3d@db.example.com/gen3d?sslmode=disable', true],
  ['postgres://gen3d@db.example.com/gen3d?sslmode=verify-full', false],
  ['postgres://gen3d@127.0.0.1/gen3d', false],
  ['postgres://gen3d@localhost/gen3d', false],
  ['postgres://gen3d@[::1]/gen3d', false],
  ['postgres:///gen3d?host=/var/run/postgresql', false],
])('traffic to %s can be read in transit: %s', (url, expected) => {
  expect(isUnencrypted(url)).toBe(expected);
});

test.runIf(process.platform === 'linux')(
  'a server warns once of an unencrypted connection to another machine',
  async () => {
    const database = new URL(await newPostgresDatabase());
    // An address of this machine that does not look like a loopback address.
    database.hostname = '0.0.0.0';
    const logged: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line) => void logged.push(line) });
    await startServer({ dataDir: temporaryFolder(), database: database.href }, { log });
    expect(logged.filter((line) => line.includes('sslmode=verify-full'))).toHaveLength(1);
  },
);
