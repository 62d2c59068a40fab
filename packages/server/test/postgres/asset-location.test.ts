// All servers and workers of a database use the same location of models and images, or do not start.
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { ConfigError } from '../../src/base/errors.js';
import { newUlid } from '../../src/base/ids.js';
import { withoutPassword } from '../../src/cluster/postgres/connections.js';
import { loadConfig } from '../../src/config.js';
import { FolderAssetStore } from '../../src/data/assets/folder-store.js';
import { worker } from '../../src/index.js';
import {
  databaseOf,
  newAccount,
  newInstallation,
  newJob,
  newPostgresDatabase,
  silent,
  smallModels,
  startServer,
  temporaryFolder,
} from '../kit.js';
import { bucketName, sharedS3 } from '../s3/kit.js';

const s3 = sharedS3();

/** The message with which a start is refused. */
async function refusal(starting: Promise<{ close(options?: { graceMs?: number }): Promise<void> }>): Promise<string> {
  const outcome = await starting.catch((error: unknown) => error);
  if (outcome instanceof ConfigError) return outcome.message;
  if (outcome instanceof Error) throw outcome;
  await (await starting).close({ graceMs: 0 });
  throw new Error('It started');
}

const startWorker = (settings: object) => worker(loadConfig({}, {}, { ...smallModels, ...settings }), { log: silent });

test('a worker without the --assets of the servers does not start, and names their location', async () => {
  const database = await newPostgresDatabase();
  const assets = `s3://${bucketName}/place-of-the-servers`;
  await startServer({ database, dataDir: temporaryFolder(), assets, s3Endpoint: s3.endpoint() });
  const dataDir = temporaryFolder();
  const message = await refusal(startWorker({ database, dataDir }));
  expect(message).toContain(`The models and images of this database are in ${assets} at ${s3.endpoint()}`);
  expect(message).toContain(`the settings name ${join(dataDir, 'assets')}`);
  expect(message).toContain("Give this worker the servers' --assets");
  const another = { assets: `s3://${bucketName}/another-place`, s3Endpoint: s3.endpoint() };
  expect(await refusal(startWorker({ database, dataDir, ...another }))).toContain('s3://models/another-place');
});

test('a worker of a server on folders needs both folders: models and images', async () => {
  const installation = await newInstallation();
  const { config } = await startServer({ ...installation });
  const assets = join(config.dataDir, 'assets');
  expect(await refusal(startWorker({ ...installation, dataDir: temporaryFolder(), assets }))).toContain(
    'also their --data-dir',
  );
  expect(await refusal(startWorker({ ...installation, assets: temporaryFolder() }))).toContain("servers' --assets");
});

test('another folder of the same name is refused', async () => {
  const installation = await newInstallation();
  const server = await startServer({ ...installation });
  await server.close();
  // As on another machine, or if the disk is not mounted.
  rmSync(join(installation.dataDir, 'assets'), { recursive: true });
  expect(await refusal(startWorker(installation))).toContain('Check that its disk is mounted');
});

test('a worker that is started before the first server waits for it', async () => {
  const installation = await newInstallation();
  const starting = startWorker(installation);
  await startServer({ ...installation });
  const { close } = await starting;
  await close();
});

test('a server moves the database to another location only when no process uses it and the models are there', async () => {
  const installation = await newInstallation();
  const db = databaseOf(installation.database);
  const server = await startServer({ ...installation });
  const old = join(installation.dataDir, 'assets');
  const job = await newJob(db, await newAccount(db));
  const keys = await new FolderAssetStore(old).put(job, Buffer.from('glTF'), Buffer.from('jpeg'));
  await db
    .updateTable('jobs')
    .set({ status: 'SUCCEEDED', finished_at: Date.now(), model_key: keys.modelKey, thumbnail_key: keys.thumbnailKey })
    .where('id', '=', job)
    .execute();

  const assets = temporaryFolder();
  const elsewhere = { ...installation, assets };
  cpSync(join(old, job), join(assets, job), { recursive: true });
  expect(await refusal(startServer(elsewhere))).toContain('first stop all servers and workers');
  await server.close();
  rmSync(join(assets, job), { recursive: true });
  expect(await refusal(startServer(elsewhere))).toContain(`The newest model, ${keys.modelKey}, is missing here`);
  cpSync(join(old, job), join(assets, job), { recursive: true });
  await startServer(elsewhere);
  expect(await refusal(startWorker(installation))).toContain(`are in ${assets} and`);
});

/** Copies the database `of`, like a restored dump. No server may use it meanwhile. */
const copyOf = (of: string) => newPostgresDatabase(onTestFinished, new URL(of).pathname.slice(1));

test.each(['a bucket', 'folders'])(
  'a location in %s is refused to another database and to a copy, until its marker is deleted',
  async (where) => {
    const location =
      where === 'folders'
        ? { dataDir: temporaryFolder() }
        : { assets: `s3://${bucketName}/${newUlid()}`, s3Endpoint: s3.endpoint() };
    const settings = (database: string) => ({ database, dataDir: temporaryFolder(), ...location });
    const original = await newPostgresDatabase();
    await (await startServer(settings(original))).close();
    const copy = await copyOf(original);
    const another = await newPostgresDatabase();
    const namesBoth = (message: string, database: string) => {
      expect(message).toContain(`belongs to another database: ${withoutPassword(original)}`);
      expect(message).toContain(withoutPassword(database));
      expect(message).toContain('Give this one another --assets');
    };
    namesBoth(await refusal(startServer(settings(another))), another);
    const message = await refusal(startServer(settings(copy)));
    namesBoth(message, copy);
    expect(message).toContain('is a copy of it');

    // The original still works, and a copy works with its own files.
    await (await startServer(settings(original))).close();
    await (await startServer({ database: await copyOf(original), dataDir: temporaryFolder() })).close();

    // As the message advises.
    const markers = /servers and workers, delete (.+), and start again/.exec(message)?.[1]?.split(' and ') ?? [];
    for (const marker of markers) {
      if (where === 'folders') rmSync(marker);
      else await s3.emptyBucket({ prefix: '' }).bucket.remove(marker.replace(`s3://${bucketName}/`, ''), 10_000);
    }
    await (await startServer(settings(copy))).close();
    expect(await refusal(startServer(settings(original)))).toContain(withoutPassword(copy));
  },
);

test('a user without special privileges is sufficient, even if pg_control_system() is forbidden', async () => {
  const user = `plain_${newUlid().toLowerCase()}`;
  /** A database that the user owns, as the documentation and error messages suggest. */
  const databaseOfUser = async (mayReadControl: boolean) => {
    const url = await newPostgresDatabase(onTestFinished, 'template0');
    const admin = databaseOf(url);
    await sql`do ${sql.lit(`begin create role ${user} login; exception when duplicate_object then null; end`)}`.execute(
      admin,
    );
    await sql`alter database ${sql.ref(new URL(url).pathname.slice(1))} owner to ${sql.ref(user)}`.execute(admin);
    if (!mayReadControl) await sql`revoke execute on function pg_control_system() from public`.execute(admin);
    const ofUser = new URL(url);
    ofUser.username = user;
    return ofUser.href;
  };
  await startServer({ database: await databaseOfUser(true), dataDir: temporaryFolder() });
  const installation = { database: await databaseOfUser(false), dataDir: temporaryFolder() };
  await (await startServer(installation)).close();
  await (await startServer(installation)).close();
  const another = await refusal(startServer({ ...installation, database: await databaseOfUser(false) }));
  expect(another).toContain('belongs to another database');
});

test('no transaction is open while a server waits for the bucket, because PostgreSQL ends idle transactions', async () => {
  const database = await newPostgresDatabase();
  const db = databaseOf(database);
  const states: string[] = [];
  const look = async () => {
    const { rows } = await sql<{ state: string }>`
      select state from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`.execute(db);
    states.push(...rows.map(({ state }) => state));
  };
  s3.proxy().plan(/installations/, look, look, look, look);
  const assets = `s3://${bucketName}/${newUlid()}`;
  await startServer({ database, dataDir: temporaryFolder(), assets, s3Endpoint: s3.endpoint() });
  expect(states).toContain('idle');
  expect(states).not.toContain('idle in transaction');
});
