import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { publicTestKey } from '@gen3d/schema';
import { sql } from 'kysely';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { newUlid } from '../src/base/ids.js';
import { dayMs } from '../src/base/time.js';
import { S3AssetStore } from '../src/cluster/s3/s3-asset-store.js';
import { edges } from '../src/composition.js';
import { charge } from '../src/data/accounts/ledger.js';
import type { AssetStore } from '../src/data/assets/asset-store.js';
import { FolderAssetStore } from '../src/data/assets/folder-store.js';
import type { Db } from '../src/data/db/database.js';
import { openSqlite } from '../src/data/db/sqlite-connection.js';
import { FolderInputStore } from '../src/data/inputs/folder-store.js';
import { dataDirOf } from '../src/data/installation/data-dir.js';
import { deleteJob, eraseDeletedAccounts, finishDeletions, forgetDeletions } from '../src/data/jobs/deletion.js';
import { deleteOldJobs } from '../src/data/jobs/retention.js';
import { openAdmin } from '../src/index.js';
import { ballPhoto } from './ball-photo.js';
import { codeOf } from './dashboard-kit.js';
import {
  adminOf,
  createJob,
  type Installation,
  imageJob,
  newInstallation,
  newKey,
  newPostgresDatabase,
  onPostgres,
  startServer,
  type TestServer,
  temporaryFolder,
  until,
  withEndpoint,
} from './kit.js';
import { openDatabase } from './open-database.js';
import { bucketName, keysIn, sharedS3 } from './s3/kit.js';

const secret = 'face-of-a-customer';
const s3 = sharedS3();

/** A log that keeps every line, and those lines that contain the text. */
function recordedLog() {
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line) => void lines.push(line) });
  return { log, lines, linesWith: (text: string) => lines.filter((line) => line.includes(text)) };
}

function withDatabase<T>({ config }: Pick<TestServer, 'config'>, work: (db: Db) => Promise<T>): Promise<T> {
  const db = openDatabase(dataDirOf(config).database);
  return work(db).finally(() => db.destroy());
}

/** A job of the first account with photos of three sides, a label, events and a logged delivery. */
async function jobOn(server: TestServer, key = server.apiKey): Promise<string> {
  const call = (method: string, path: string, body?: unknown) => server.call(method, path, body, key);
  const id = await createJob(call, imageJob(ballPhoto(), { left: ballPhoto(), back: ballPhoto() }));
  await withDatabase(server, async (db) => {
    const { account_id } = await db
      .updateTable('jobs')
      .set({
        label: `${secret}.jpg`,
        label_folded: secret,
        image_urls: JSON.stringify({ right: `https://example.com/${secret}.jpg` }),
      })
      .where('id', '=', id)
      .returning('account_id')
      .executeTakeFirstOrThrow();
    await db.updateTable('events').set({ error_message: secret }).where('job_id', '=', id).execute();
    const { event_id } = await db
      .selectFrom('events')
      .select('event_id')
      .where('job_id', '=', id)
      .executeTakeFirstOrThrow();
    const outcome = { state: 'dead' as const, ended_at: 0, failure: secret, response_body: secret };
    await db
      .insertInto('deliveries')
      .values({ event_id, account_id, due_at: 0, ...outcome })
      .onConflict((conflict) => conflict.column('event_id').doUpdateSet(outcome))
      .execute();
  });
  return id;
}

/** Stores a model for the job, as a runner does, and charges for it. Returns the path of its URL. */
async function succeed(
  server: TestServer,
  id: string,
  assets: AssetStore = new FolderAssetStore(join(server.config.dataDir, 'assets')),
): Promise<string> {
  const keys = await assets.put(id, Buffer.from(secret), Buffer.from(secret), Buffer.from(secret));
  await assets.keep(keys);
  await withDatabase(server, async (db) => {
    const { account_id } = await db
      .updateTable('jobs')
      .set({ status: 'SUCCEEDED', finished_at: Date.now(), model_key: keys.modelKey, thumbnail_key: keys.thumbnailKey })
      .where('id', '=', id)
      .returning('account_id')
      .executeTakeFirstOrThrow();
    await charge(db, { accountId: account_id, jobId: id, price: 0, instance: 'cpu', inferenceMs: 1_000 }, Date.now());
  });
  return `/assets/${keys.modelKey}`;
}

const filesOf = ({ config }: TestServer) => ({
  assets: new FolderAssetStore(join(config.dataDir, 'assets')),
  inputs: new FolderInputStore(join(config.dataDir, 'inputs')),
});

const remove = (server: TestServer, id: string, key?: string) =>
  server.call('DELETE', `/gen3d/jobs/${id}`, undefined, key);

/** The tables in which a value contains the text. */
const tablesWith = (server: TestServer, text: string) =>
  withDatabase(server, async (db) => {
    const found: string[] = [];
    for (const { name } of await db.introspection.getTables()) {
      const { rows } = await sql`select * from ${sql.table(name)}`.execute(db);
      if (JSON.stringify(rows).includes(text)) found.push(name);
    }
    return found;
  });

const isOfDatabase = (name: string) => name.startsWith('gen3d.sqlite');

/** Whether a file contains the text. The server may have deleted it a moment ago. */
function isIn(path: string, text: string): boolean {
  try {
    return readFileSync(path).includes(text);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** The files of the data directory whose path or content contains the text, with those of the database. */
const allFilesWith = ({ config }: TestServer, text: string) =>
  readdirSync(config.dataDir, { recursive: true, withFileTypes: true })
    .filter((file) => {
      const path = join(file.parentPath, file.name);
      return path.includes(text) || (file.isFile() && isIn(path, text));
    })
    .map(({ name }) => name);

const filesWith = (server: TestServer, text: string) =>
  allFilesWith(server, text).filter((name) => !isOfDatabase(name));

test('a deleted job leaves its charge, and nothing else: no row, no file, no new log line, and 410 at its URLs', async () => {
  const { log, lines, linesWith } = recordedLog();
  const server = await startServer({}, { log });
  const id = await jobOn(server);
  const url = await succeed(server, id);
  writeFileSync(join(server.config.dataDir, 'inputs', `.${id}.draft`), secret);
  expect((await server.call('GET', url)).status).toBe(200);
  expect(await tablesWith(server, secret)).not.toEqual([]);
  lines.length = 0;

  expect((await remove(server, id)).status).toBe(204);
  expect(await tablesWith(server, secret)).toEqual([]);
  expect(await tablesWith(server, id)).toEqual(['deleted_jobs', 'ledger']);
  // Its id stays in the ledger.
  expect([...allFilesWith(server, secret), ...filesWith(server, id)]).toEqual([]);
  expect((await server.call('GET', `/v1/jobs/${id}`)).status).toBe(404);
  for (const file of [url, url.replace('model.glb', 'thumbnail.webp')]) {
    expect((await server.call('GET', file)).status).toBe(410);
  }
  expect((await server.call('GET', url.replace(id, newUlid()))).status).toBe(404);
  expect((await remove(server, id)).status).toBe(204);
  expect(linesWith(id)).not.toEqual([]);
  expect(linesWith(secret)).toEqual([]);
});

test('a label that was moved within the database often is not in its files after the deletion of its job', {
  tags: 'slow',
}, async () => {
  const server = await startServer();
  const others: string[] = [];
  for (let i = 0; i < 30; i++) others.push(await jobOn(server));
  await withDatabase(server, (db) =>
    db
      .updateTable('jobs')
      .set({ label: 'x'.repeat(90), label_folded: '' })
      .execute(),
  );
  const id = await jobOn(server);
  // Rows that grow and shrink move between pages, and leave copies behind.
  for (let length = 0; length < 400; length += 20) {
    await withDatabase(server, async (db) => {
      await db
        .updateTable('jobs')
        .set({ error_message: 'y'.repeat(length) })
        .where('id', 'in', [...others, id])
        .execute();
      await db
        .updateTable('jobs')
        .set({ label: `${secret} ${length}` })
        .where('id', '=', id)
        .execute();
    });
  }
  for (const other of [...others.slice(0, 15), id]) expect((await remove(server, other)).status).toBe(204);
  await withDatabase(server, (db) => db.deleteFrom('deliveries').execute());
  expect(await tablesWith(server, `${secret} `)).toEqual([]);
  expect(allFilesWith(server, `${secret} `)).toEqual([]);
});

test.skipIf(onPostgres)(
  'while another process reads the database, a deletion stays pending, and is then finished',
  async () => {
    const server = await startServer();
    const id = await jobOn(server);
    const { database } = dataDirOf(server.config);
    const reader = openSqlite(database, { busyTimeoutMs: 0, readonly: true });
    reader.exec('begin');
    reader.prepare('select count(*) from jobs').all([]);
    const isPending = () =>
      withDatabase(server, async (db) => {
        await finishDeletions(db, filesOf(server));
        const { pending } = await db.selectFrom('deleted_jobs').select('pending').executeTakeFirstOrThrow();
        return pending === 1;
      });
    expect((await remove(server, id)).status).toBe(204);
    expect(await isPending()).toBe(true);
    expect(readFileSync(`${database}-wal`).includes(secret)).toBe(true);
    reader.close();
    expect(await isPending()).toBe(false);
    expect(readFileSync(`${database}-wal`).includes(secret)).toBe(false);
  },
);

test('a deleted job and a deleted account leave nothing in a bucket', async () => {
  const { bucket, prefix } = s3.emptyBucket();
  const settings = { assets: `s3://${bucketName}/${prefix}`, s3Endpoint: s3.endpoint(), noTestKey: true };
  const server = await startServer({ ...(await newInstallation()), ...settings });
  const admin = await adminOf(server);
  const ids = [await jobOn(server), await jobOn(server), await jobOn(server)];
  const url = await succeed(server, ids[0]!, new S3AssetStore(bucket));
  expect(await keysIn(bucket)).toHaveLength(12);
  for (const id of ids.slice(0, 2)) expect((await remove(server, id)).status).toBe(204);
  const left = `inputs/${ids[2]}`;
  expect(await keysIn(bucket)).toEqual(Array(3).fill(expect.stringContaining(left)));
  expect((await fetch(server.url + url, { redirect: 'manual' })).status).toBe(410);
  const [account] = await admin.listAccounts();
  await admin.deleteAccount(account!.account_id);
  const files = await edges.openFileStores(dataDirOf(server.config), server.config);
  await withDatabase(server, async (db) => {
    await eraseDeletedAccounts(db, Date.now());
    await finishDeletions(db, files);
  });
  expect(await keysIn(bucket)).toEqual([]);
});

test('a waiting job is deleted with its photo, and a running one is refused until it is finished', async () => {
  const server = await startServer();
  const [waiting, running] = [await jobOn(server), await jobOn(server)];
  await withDatabase(server, (db) =>
    db.updateTable('jobs').set({ status: 'IN_PROGRESS' }).where('id', '=', running).execute(),
  );
  expect((await remove(server, waiting)).status).toBe(204);
  expect(filesWith(server, waiting)).toEqual([]);
  const refused = await remove(server, running);
  expect([refused.status, codeOf(refused)]).toEqual([409, 'not_deletable']);
  const photos = ['back', 'front', 'left'].map((side) => `${running}.${side}`);
  expect(filesWith(server, running)).toEqual(photos);
  await succeed(server, running);
  expect((await remove(server, running)).status).toBe(204);
});

test('nobody deletes the jobs of others, with or without a record, or those of the public test key', async () => {
  const server = await startServer();
  const [id, expired] = [await jobOn(server), await jobOn(server)];
  await succeed(server, expired);
  await withDatabase(server, (db) => db.deleteFrom('jobs').where('id', '=', expired).execute());
  const { api_key } = await newKey(await adminOf(server), 'another');
  for (const job of [id, expired]) expect(codeOf(await remove(server, job, api_key))).toBe('not_found');
  expect((await remove(server, id, publicTestKey)).status).toBe(403);
  expect((await server.call('GET', `/v1/jobs/${id}`)).status).toBe(200);
});

test('after a crash between the rows and the files, the next start removes the files', async () => {
  const installation = await newInstallation();
  const server = await startServer({ ...installation });
  const id = await jobOn(server);
  const url = await succeed(server, id);
  await server.close({ graceMs: 0 });
  expect(await withDatabase(server, (db) => deleteJob(db, id, Date.now()))).toBe('deleted');
  expect(filesWith(server, id)).not.toEqual([]);
  const next = await startServer({ ...installation });
  await until(async () => filesWith(next, id).length === 0);
  expect((await next.call('GET', url)).status).toBe(410);
  expect(existsSync(join(server.config.dataDir, 'assets', id))).toBe(false);
});

test('what a suspended attempt stores after the deletion is removed, also if the server was off for a month', async () => {
  const installation = await newInstallation();
  const server = await startServer({ ...installation });
  const { assets } = filesOf(server);
  const id = await jobOn(server);
  const { modelKey } = await assets.put(id, Buffer.from(secret), Buffer.from(secret));
  expect((await remove(server, id)).status).toBe(204);
  mkdirSync(join(assets.folder, dirname(modelKey)), { recursive: true });
  writeFileSync(join(assets.folder, modelKey), secret);
  await server.close({ graceMs: 0 });
  const deletedAt = Date.now() - 30 * dayMs;
  await withDatabase(server, (db) => db.updateTable('deleted_jobs').set({ deleted_at: deletedAt }).execute());
  const markers = join(assets.folder, '.unsettled');
  for (const marker of readdirSync(markers)) utimesSync(join(markers, marker), deletedAt / 1_000, deletedAt / 1_000);
  const next = await startServer({ ...installation });
  await until(async () => filesWith(next, id).length === 0);
  expect((await next.call('GET', `/assets/${modelKey}`)).status).toBe(404);
});

test('a model whose job’s record has expired is deleted by its account', async () => {
  const server = await startServer();
  const id = await jobOn(server);
  const url = await succeed(server, id);
  await withDatabase(server, async (db) => {
    await db.deleteFrom('jobs').where('id', '=', id).execute();
    await deleteOldJobs(db, Date.now());
  });
  expect((await remove(server, id)).status).toBe(204);
  expect((await server.call('GET', url)).status).toBe(410);
});

test('deletions are remembered as long as the job had a model, and otherwise for a week', async () => {
  const server = await startServer();
  const [without, having] = [await jobOn(server), await jobOn(server)];
  const url = await succeed(server, having);
  for (const id of [without, having]) await remove(server, id);
  const remembered = async (after: number) => {
    await withDatabase(server, (db) => forgetDeletions(db, Date.now() + after));
    expect((await server.call('GET', url)).status).toBe(410);
    return (await Promise.all([without, having].map((id) => remove(server, id)))).map(({ status }) => status);
  };
  expect(await remembered(6 * dayMs)).toEqual([204, 204]);
  expect(await remembered(8 * dayMs)).toEqual([404, 204]);
});

test('models and public pages of a deleted account are refused at once, before its files are removed', async () => {
  const server = await startServer();
  const admin = await adminOf(server);
  const { account_id } = await admin.createAccount('leaving', 5);
  const { api_key } = await admin.createKey(account_id);
  const [leaving, expired, staying] = [await jobOn(server, api_key), await jobOn(server, api_key), await jobOn(server)];
  const urls = [await succeed(server, leaving), await succeed(server, expired), await succeed(server, staying)];
  const statuses = () => Promise.all(urls.map(async (url) => (await server.call('GET', url)).status));
  expect((await server.call('PUT', `/gen3d/jobs/${leaving}/share`, undefined, api_key)).status).toBe(200);
  const { share_token } = await withDatabase(server, (db) =>
    db.selectFrom('jobs').select('share_token').where('id', '=', leaving).executeTakeFirstOrThrow(),
  );
  const page = async () => (await server.call('GET', `/share/${share_token}`, undefined, null)).status;
  expect([await page(), ...(await statuses())]).toEqual([200, 200, 200, 200]);
  await withDatabase(server, async (db) => {
    // Its record has expired, and its charge remains.
    await db.deleteFrom('jobs').where('id', '=', expired).execute();
    await db.updateTable('accounts').set({ deleted_at: Date.now(), erasing: 1 }).where('id', '=', account_id).execute();
  });
  expect(await page()).toBe(404);
  await until(async () => JSON.stringify(await statuses()) === JSON.stringify([410, 410, 200]));
});

test('a deleted account leaves its amounts, and nothing else: no name, key, job or file', async () => {
  const installation = await newInstallation();
  const server = await startServer({ ...installation });
  const admin = await adminOf(server);
  const { account_id } = await admin.createAccount(secret, 5);
  const { api_key } = await admin.createKey(account_id, secret);
  await admin.creditAccount(account_id, 1, `${secret} 7`);
  await withDatabase(server, (db) => withEndpoint(db, account_id));
  const ids = [await jobOn(server, api_key), await jobOn(server, api_key), await jobOn(server, api_key)];
  const url = await succeed(server, ids[0]!);
  await succeed(server, ids[1]!);
  await withDatabase(server, (db) => db.deleteFrom('jobs').where('id', '=', ids[1]!).execute());
  const others = await jobOn(server);

  expect(await admin.deleteAccount(secret)).toBe(account_id);
  expect((await server.call('GET', '/v1/balance', undefined, api_key)).status).toBe(403);
  await expect(admin.deleteAccount(account_id)).rejects.toThrow('No account has the id');
  await server.close({ graceMs: 0 });
  const { log, lines, linesWith } = recordedLog();
  const next = await startServer({ ...installation }, { log });
  await until(async () => ids.every((id) => filesWith(next, id).length === 0));
  await remove(next, others, server.apiKey);
  expect(await tablesWith(next, secret)).toEqual([]);
  expect(filesWith(next, secret)).toEqual([]);
  const left = ['accounts', 'deleted_jobs', 'ledger'];
  await until(async () => JSON.stringify(await tablesWith(next, account_id)) === JSON.stringify(left));
  expect((await next.call('GET', url)).status).toBe(410);
  expect(lines).not.toEqual([]);
  expect(linesWith(secret)).toEqual([]);
  expect(await admin.listAccounts()).not.toContainEqual(expect.objectContaining({ account_id }));
});

/** A copy of an installation, such as a restored backup. Its server must not run. */
async function copyOf({ dataDir, database }: Installation): Promise<Installation> {
  const copy = temporaryFolder();
  // Without the marker of the database, which it replaces.
  cpSync(dataDir, copy, { recursive: true, filter: (path) => !path.includes('.installations') });
  const name = database === 'sqlite' ? undefined : new URL(database).pathname.slice(1);
  return { dataDir: copy, database: name === undefined ? database : await newPostgresDatabase(onTestFinished, name) };
}

test('what was deleted after a backup is deleted again from the restored one, with its files and keys', async () => {
  const installation = await newInstallation();
  const server = await startServer({ ...installation });
  const before = await openAdmin(server.config);
  const { account_id } = await before.createAccount('leaving', 5);
  const leaving = await before.createKey(account_id);
  const [{ account_id: first } = { account_id: '' }] = await before.listAccounts();
  const leaked = await before.createKey(first, 'leaked');
  await before.close();
  const [finished, running, ofLeaving, kept] = [
    await jobOn(server),
    await jobOn(server),
    await jobOn(server, leaving.api_key),
    await jobOn(server),
  ];
  const url = await succeed(server, finished);
  await withDatabase(server, (db) =>
    db.updateTable('jobs').set({ status: 'IN_PROGRESS' }).where('id', '=', running).execute(),
  );
  await server.close({ graceMs: 0 });
  const backup = await copyOf(installation);
  // Created after the database was copied, and before its models were.
  const late = newUlid();
  const { assets } = filesOf({ ...server, config: { ...server.config, ...backup } });
  await assets.keep(await assets.put(late, Buffer.from(secret), Buffer.from(secret)));

  const admin = await adminOf(server);
  await admin.cancelJob(running);
  for (const id of [finished, running]) await admin.deleteJob(id);
  await admin.deleteAccount(account_id);
  await admin.revokeKey(leaked.key_id);
  const deletions = [...(await admin.listDeletions()), { kind: 'job', id: late }];

  const restored = { ...server.config, ...backup };
  const repeating = await adminOf({ config: restored });
  await expect(repeating.repeatDeletions([{ kind: 'job', id: '../..' }])).rejects.toThrow('entry 1');
  await repeating.repeatDeletions(deletions);
  for (const id of [finished, running, late]) expect(filesWith({ ...server, config: restored }, id)).toEqual([]);
  const next = await startServer({ ...backup });
  const statusOf = async (key: string) => (await next.call('GET', '/v1/balance', undefined, key)).status;
  expect([await statusOf(server.apiKey), await statusOf(leaked.api_key), await statusOf(leaving.api_key)]).toEqual([
    200, 403, 403,
  ]);
  const list = (await next.call('GET', '/v1/jobs', undefined, server.apiKey)).body;
  expect(list).toMatchObject({ jobs: [{ task_id: kept }] });
  expect((await next.call('GET', url)).status).toBe(410);
  await until(async () => filesWith(next, ofLeaving).length === 0);
});

test('the operator deletes a job, also one whose record has expired', async () => {
  const server = await startServer();
  const admin = await adminOf(server);
  const [id, expired] = [await jobOn(server), await jobOn(server)];
  await succeed(server, expired);
  await withDatabase(server, (db) => db.deleteFrom('jobs').where('id', '=', expired).execute());
  for (const job of [id, expired.toLowerCase()]) await admin.deleteJob(job);
  await expect(admin.deleteJob(newUlid())).rejects.toThrow('No job has the id');
  await withDatabase(server, (db) => finishDeletions(db, filesOf(server)));
  expect([...filesWith(server, id), ...filesWith(server, expired)]).toEqual([]);
});
