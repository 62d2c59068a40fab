import { sql } from 'kysely';
import pino from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ConfigError } from '../../src/base/errors.js';
import { newUlid } from '../../src/base/ids.js';
import { isUnencrypted } from '../../src/cluster/postgres/connections.js';
import { listen, Notifier } from '../../src/cluster/postgres/notifications.js';
import { loadConfig } from '../../src/config.js';
import type { Notification } from '../../src/data/db/database.js';
import { migrate } from '../../src/data/db/open.js';
import { openAdmin } from '../../src/index.js';
import { photoJob } from '../contract/kit.js';
import { databaseOf, newInstallation, newPostgresDatabase, startServer, temporaryFolder, until } from '../kit.js';
import { openDatabase } from '../open-database.js';

describe('an unusable database', () => {
  const open = (database: string) => openAdmin(loadConfig({}, {}, { dataDir: temporaryFolder(), database }));

  test('without a server is refused with host and reason, and without the password', async () => {
    const error: unknown = await open('postgres://gen3d:s3cret@127.0.0.1:1/gen3d').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    const { message } = error as Error;
    expect(message).toContain('postgres://gen3d@127.0.0.1:1/gen3d');
    expect(message).toContain('ECONNREFUSED');
    expect(message).toContain('--database');
    expect(message).not.toContain('s3cret');
  });

  test('that does not exist is refused by its name', async () => {
    const missing = new URL((await newInstallation()).database);
    missing.pathname = '/nowhere';
    await expect(open(missing.href)).rejects.toThrow(/\/nowhere\. .*database "nowhere" does not exist/);
  });

  test('whose password contains an unencoded @ or / is refused without any part of the password', async () => {
    for (const password of ['p@qz/xyzzy', '12/xyzzy', '12?xyzzy', 'p@12#xyzzy']) {
      const error: unknown = await open(`postgres://gen3d:${password}@db.example.com/gen3d`).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(ConfigError);
      const { message } = error as Error;
      expect(message).toContain('Percent-encode special characters');
      expect(message).not.toMatch(/xyzzy|qz|12|db\.example/);
    }
  });

  test('without sufficient privileges is refused with the statements to run, and works afterwards', async () => {
    const database = await newPostgresDatabase(onTestFinished, 'template0');
    const db = openDatabase(database);
    const user = `Guest ${newUlid()}`;
    await sql`create role ${sql.ref(user)} login`.execute(db);
    onTestFinished(async () => {
      await sql`drop owned by ${sql.ref(user)}`.execute(db);
      await sql`drop role ${sql.ref(user)}`.execute(db);
      await db.destroy();
    });
    const guest = new URL(database);
    guest.username = user;
    const refusal = async () => {
      const error: unknown = await open(guest.href).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(ConfigError);
      return (error as Error).message;
    };
    const inSchema = await refusal();
    expect(inSchema).toContain(`The user "${user}" may not create tables in the schema public`);
    expect(inSchema).toMatch(/ALTER DATABASE \S+ OWNER TO "Guest/);
    await migrate(db, database);
    const onTables = await refusal();
    expect(onTables).toContain(`The user "${user}" may not use the tables in`);
    // Exactly as the message says.
    await sql.raw(/GRANT ALL[^;]+/.exec(onTables)?.[0] ?? '').execute(db);
    await sql.raw(/GRANT USAGE[^;]+/.exec(inSchema)?.[0] ?? '').execute(db);
    await (await open(guest.href)).close();
  });
});

test('a process that is suspended in a transaction does not keep its locks for long', async () => {
  const db = databaseOf(await newPostgresDatabase());
  const { rows } = await sql<{ timeout: string }>`
    select current_setting('idle_in_transaction_session_timeout') as timeout`.execute(db);
  expect(rows).toEqual([{ timeout: '10s' }]);
});

test('the server cancels a statement before this process stops waiting for it', async () => {
  const database = await newPostgresDatabase();
  const timeoutOf = async (withoutTimeout: boolean) => {
    const db = openDatabase(database, { withoutTimeout });
    onTestFinished(() => db.destroy());
    return (await sql<{ timeout: string }>`select current_setting('statement_timeout') as timeout`.execute(db)).rows;
  };
  expect(await timeoutOf(false)).toEqual([{ timeout: '20s' }]);
  expect(await timeoutOf(true)).toEqual([{ timeout: '0' }]);
});

describe('notifications', () => {
  async function setUp() {
    const database = await newPostgresDatabase();
    const db = openDatabase(database);
    const heard: Notification[] = [];
    const stop = listen(database, {
      job_waiting: () => heard.push('job_waiting'),
      event_recorded: () => heard.push('event_recorded'),
    });
    onTestFinished(async () => {
      await stop();
      await db.destroy();
    });
    const listeners = async () => {
      const { rows } = await sql<{ pid: number }>`
        select pid from pg_stat_activity where datname = current_database() and query like 'listen %' and state = 'idle'`.execute(
        db,
      );
      return rows.length > 0 && rows;
    };
    await until(async () => heard.length === 2);
    return { db, heard, listeners, notifier: new Notifier(db) };
  }

  test('are sent by a server when a job waits', async () => {
    const server = await startServer();
    let heard = 0;
    onTestFinished(listen(server.config.database, { job_waiting: () => heard++ }));
    await until(async () => heard === 1);
    expect((await server.call('POST', '/v1/jobs', photoJob())).status).toBe(202);
    await until(async () => heard === 2);
  });

  test('of one kind at the same time are sent at most twice', async () => {
    const { heard, notifier } = await setUp();
    for (let i = 0; i < 100; i++) notifier.notify('job_waiting');
    notifier.notify('event_recorded');
    await until(async () => heard.slice(2).includes('event_recorded') && heard.slice(2).includes('job_waiting'));
    expect(heard.slice(2).filter((news) => news === 'job_waiting').length).toBeLessThanOrEqual(2);
  });

  test('arrive again after the connection broke, which counts as a notification itself', async () => {
    const { db, heard, listeners, notifier } = await setUp();
    const [{ pid }] = (await until(listeners)) as [{ pid: number }];
    await sql`select pg_terminate_backend(${pid})`.execute(db);
    await until(async () => heard.length === 4);
    notifier.notify('event_recorded');
    await until(async () => heard.length === 5);
    expect(heard.at(-1)).toBe('event_recorded');
  });
});

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
