import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateJobResponse, Task, type ViewSide } from '@gen3d/schema';
import pino from 'pino';
import { inject, onTestFinished } from 'vitest';
import { type AtEnd, temporaryFolder } from '../../engine/src/temporary-folder.fixture.js';
import { newUlid } from '../src/base/ids.js';
import { toMicroUsd } from '../src/base/money.js';
import { type Config, loadConfig } from '../src/config.js';
import { createAccount } from '../src/data/accounts/accounts.js';
import type { Db } from '../src/data/db/database.js';
import { migrate } from '../src/data/db/open.js';
import { dataDirOf } from '../src/data/installation/data-dir.js';
import { enqueueJob, type NewJob } from '../src/data/jobs/job-store.js';
import { photoColumns } from '../src/data/jobs/photos.js';
import { type Admin, openAdmin, type ServeOptions, type Server, serve } from '../src/index.js';
import { asDataUri } from './ball-photo.js';
import { openDatabase } from './open-database.js';
import { createDatabase, dropDatabase, template, urlOfDatabase } from './postgres/databases.js';
import { listening, site } from './site.js';

export const silent = pino({ level: 'silent' });

/** Settings for cheap jobs: no network to load, and the smallest model. A job then takes 0.5 to 1 s of CPU time. */
export const smallModels = { bundle: 'inflate', device: 'cpu', resolution: 32, textureSize: 256 } as const;

export { type AtEnd, listening, site, temporaryFolder };

const postgres = inject('postgres');
/** Tests that use the database run in two Vitest projects: on SQLite and on PostgreSQL. */
export const onPostgres = postgres !== undefined;

/** Creates a PostgreSQL database as a copy of `from`, which has all tables by default. Returns its URL. */
export async function newPostgresDatabase(atEnd: AtEnd = onTestFinished, from = template): Promise<string> {
  if (!postgres || 'missing' in postgres) throw new Error('This test needs PostgreSQL');
  const name = `test_${newUlid().toLowerCase()}`;
  await createDatabase(postgres.url, name, from);
  atEnd(() => dropDatabase(postgres.url, name));
  return urlOfDatabase(postgres.url, name);
}

/** The location of a new database without tables, on SQLite or PostgreSQL. */
export async function emptyDatabase(): Promise<string> {
  return onPostgres ? newPostgresDatabase(onTestFinished, 'template0') : join(temporaryFolder(), 'test.sqlite');
}

let sqliteTemplate: Promise<Buffer> | undefined;

async function migratedSqliteFile(): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-server-'));
  const path = join(folder, 'template.sqlite');
  const db = openDatabase(path);
  await migrate(db);
  await db.destroy();
  const content = readFileSync(path);
  rmSync(folder, { recursive: true });
  return content;
}

/** Writes a SQLite database with all tables: a copy, which is faster than migrating each. */
async function newSqliteDatabase(path: string): Promise<string> {
  sqliteTemplate ??= migratedSqliteFile();
  writeFileSync(path, await sqliteTemplate, { mode: 0o600 });
  return path;
}

/** A new database with all tables, on SQLite or PostgreSQL. */
export async function temporaryDatabase(): Promise<Db> {
  const location = onPostgres
    ? await newPostgresDatabase()
    : await newSqliteDatabase(join(temporaryFolder(), 'test.sqlite'));
  return databaseOf(location);
}

/** A connection to a database, or to that of a server or an installation. It is closed after the test. */
export function databaseOf(of: string | Installation | { config: Installation }, atEnd: AtEnd = onTestFinished): Db {
  const location = typeof of === 'string' ? of : dataDirOf('config' in of ? of.config : of).database;
  const db = openDatabase(location);
  atEnd(() => db.destroy());
  return db;
}

/** Opens the operator's actions on a server, and closes them at the end of the test. */
export async function adminOf({ config }: { config: Config }, atEnd: AtEnd = onTestFinished): Promise<Admin> {
  const admin = await openAdmin(config);
  atEnd(() => admin.close());
  return admin;
}

/** A key of a new account with 10 USD. */
export async function newKey(admin: Admin, name = `account ${randomUUID()}`) {
  const { account_id } = await admin.createAccount(name, 10);
  return admin.createKey(account_id);
}

/** The settings that say where a server stores its data. */
export interface Installation {
  dataDir: string;
  database: string;
}

/** A data directory and a database without records, which are removed after the test. */
export async function newInstallation(atEnd: AtEnd = onTestFinished): Promise<Installation> {
  const dataDir = temporaryFolder(atEnd);
  if (onPostgres) return { dataDir, database: await newPostgresDatabase(atEnd) };
  await newSqliteDatabase(join(dataDir, 'gen3d.sqlite'));
  return { dataDir, database: 'sqlite' };
}

/** An account with 10 USD, with a name of its own unless one is given. */
export async function newAccount(db: Db, name = `test ${randomUUID()}`): Promise<string> {
  const { id } = await db.transaction().execute((trx) => createAccount(trx, { name, balance: toMicroUsd(10) }, 0));
  return id;
}

const unlimited = { maxOpenJobs: Number.MAX_SAFE_INTEGER, maxJobsPerDay: Number.MAX_SAFE_INTEGER };

/** Inserts a job that waits for its inference. With `prepared: 0`, it waits for its preparation. */
export async function newJob(db: Db, accountId: string, fields: Partial<NewJob> = {}): Promise<string> {
  const id = fields.id ?? newUlid();
  const job = {
    id,
    account_id: accountId,
    type: 'image-to-3d',
    idempotency_key: null,
    ...photoColumns([{ side: 'front', url: 'https://example.com/photo.jpg' }]),
    ...(fields.prepared !== 0 && { prepared: 1, status: 'QUEUED' as const, progress: 25 }),
    created_at: 0,
    ...fields,
  };
  await db.transaction().execute((trx) => enqueueJob(trx, job, unlimited));
  return id;
}

/** Inserts a webhook endpoint, so that the account's events are recorded. */
export async function withEndpoint(db: Db, accountId: string): Promise<void> {
  await db
    .insertInto('webhook_endpoints')
    .values({ account_id: accountId, url: 'https://example.com/hook', sealed_secret: 'v1.', created_at: 0 })
    .execute();
}

/** The account's events that wait for delivery, in order, each as `[status, progress]`. */
export async function eventsOf(db: Db, accountId: string): Promise<[string | null, number | null][]> {
  const rows = await db
    .selectFrom('deliveries')
    .innerJoin('events', 'events.event_id', 'deliveries.event_id')
    .select(['status', 'progress'])
    .where('deliveries.account_id', '=', accountId)
    .where('state', '=', 'waiting')
    .orderBy('events.event_id')
    .execute();
  return rows.map(({ status, progress }) => [status, progress]);
}

export interface ApiResponse {
  status: number;
  headers: Headers;
  /** Parsed if it is JSON, otherwise text. */
  body: unknown;
}

export interface TestServer extends Server {
  config: Config;
  apiKey: string;
  stdout: string;
  /** Calls the API with the first account's key, another key, or none (null). Sends a string body unchanged. */
  call(
    method: string,
    path: string,
    body?: unknown,
    key?: string | null,
    headers?: Record<string, string>,
  ): Promise<ApiResponse>;
}

export async function callServer(
  url: string,
  method: string,
  path: string,
  body: unknown,
  key: string | null,
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  const response = await fetch(url + path, {
    method,
    redirect: 'manual',
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  let parsed: unknown = text;
  if (response.headers.get('content-type')?.includes('json')) parsed = JSON.parse(text);
  return { status: response.status, headers: response.headers, body: parsed };
}

type Call = (method: string, path: string, body?: unknown) => Promise<Pick<ApiResponse, 'status' | 'body'>>;

/** The request body of a job for images, given by their bytes or URLs. */
export function imageJob(image: Uint8Array | string, views: Partial<Record<ViewSide, Uint8Array | string>> = {}) {
  const urlOf = (each: Uint8Array | string) => (typeof each === 'string' ? each : asDataUri(each));
  const others = Object.fromEntries(Object.entries(views).map(([side, view]) => [side, urlOf(view)]));
  return { type: 'image-to-3d', input: { image_urls: [urlOf(image)], views: others } };
}

/** Creates a job and returns its id. */
export async function createJob(call: Call, body: unknown): Promise<string> {
  return CreateJobResponse.parse((await call('POST', '/v1/jobs', body)).body).job_id;
}

export const readJob = async (call: Call, id: string): Promise<Task> =>
  Task.parse((await call('GET', `/v1/jobs/${id}`)).body);

/** The keys of all files of a model, sorted. */
export const assetFiles = (modelKey: string): string[] =>
  ['model.glb', 'thumbnail.jpg', 'thumbnail.webp'].map((name) => modelKey.replace('model.glb', name));

/** Waits until the job has a terminal status. */
export const finishedJob = (call: Call, id: string): Promise<Task> =>
  until(async () => {
    const task = await readJob(call, id);
    return task.finished_at !== null && task;
  }, 110_000);

/** A whole server on a free port that makes small models. Unless `workers` is set, it has no runners. */
export async function startServer(
  settings: Record<string, unknown> = {},
  {
    atEnd = onTestFinished,
    ...options
  }: Pick<ServeOptions, 'log' | 'sampleFolder' | 'fileTimeoutMs'> & { atEnd?: AtEnd } = {},
): Promise<TestServer> {
  const defaults = { ...smallModels, port: 0, workers: 0, rateLimit: 'off' };
  const installation = settings.dataDir === undefined ? await newInstallation(atEnd) : {};
  // As a config file, because some settings have no flag. JSON drops undefined values, which unset a default.
  const file = JSON.parse(JSON.stringify({ ...defaults, ...installation, ...settings }));
  const config = loadConfig({}, {}, file);
  if (onPostgres && config.database === 'sqlite')
    throw new Error('Pass the database of newInstallation() together with its data directory');
  let stdout = '';
  const server = await serve(config, {
    log: silent,
    stdout: { write: (text) => (stdout += text) },
    ...options,
  });
  let open = true;
  const close: Server['close'] = async (options) => {
    if (open) await server.close(options);
    open = false;
  };
  atEnd(() => close({ graceMs: 0 }));
  const apiKey = server.bootstrap?.apiKey ?? '';
  return {
    ...server,
    close,
    config,
    apiKey,
    stdout,
    call: (method, path, body, key = apiKey, headers = {}) => callServer(server.url, method, path, body, key, headers),
  };
}

/** Records the maximum number of operations in progress at the same time. */
export class ConcurrencyMeter {
  #now = 0;
  max = 0;

  begin(): void {
    this.max = Math.max(this.max, ++this.#now);
  }

  end(): void {
    this.#now--;
  }
}

/** Calls `check` every 50 ms until it returns a value. */
export async function until<T>(check: () => Promise<T | undefined | false>, timeoutMs = 60_000): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`Timed out after ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The pages of the documentation that the server delivers. */
export const documentationPages = [
  '/docs',
  '/docs/getting-started',
  '/docs/contract',
  '/docs/job-list',
  '/docs/errors',
  '/docs/webhooks',
  '/docs/sdk',
  '/docs/cli',
  '/docs/printing',
  '/docs/web-and-engines',
  '/docs/configuration',
];
