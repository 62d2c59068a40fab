import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { inject, onTestFinished } from 'vitest';
import { newUlid } from '../src/base/ids.js';
import { toMicroUsd } from '../src/base/money.js';
import { type Config, loadConfig } from '../src/config.js';
import { createAccount } from '../src/data/accounts/accounts.js';
import { credit } from '../src/data/accounts/ledger.js';
import { type Db, migrate, openDatabase } from '../src/data/db/open.js';
import { enqueueJob, type NewJob } from '../src/data/jobs/job-store.js';
import { type ServeOptions, type Server, serve } from '../src/serve.js';
import { createDatabase, dropDatabase, template, urlOfDatabase } from './postgres/databases.js';

export const silent = pino({ level: 'silent' });

/** Settings that make a job cheap: no weights to load, and the smallest model. A job then takes 0.5 to 1 s of CPU time. */
export const smallModels = { bundle: 'inflate', device: 'cpu', resolution: 32, textureSize: 256 } as const;

/** Takes what must happen when whatever was set up is over. */
export type AtEnd = (end: () => void | Promise<void>) => void;

/** A folder that lives as long as the test. */
export function temporaryFolder(atEnd: AtEnd = onTestFinished, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'gen3d-server-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const postgres = inject('postgres');
/** The tests of a store run twice, each in a vitest project of its own: on SQLite and on PostgreSQL. */
export const onPostgres = postgres !== undefined;

/** A PostgreSQL database of its own: with the tables, or empty. Its URL. */
export async function newPostgresDatabase(atEnd: AtEnd = onTestFinished, from = template): Promise<string> {
  if (!postgres || 'missing' in postgres) throw new Error('this test needs PostgreSQL');
  const name = `test_${newUlid().toLowerCase()}`;
  await createDatabase(postgres.url, name, from);
  atEnd(() => dropDatabase(postgres.url, name));
  return urlOfDatabase(postgres.url, name);
}

/** A fresh database with the real migrations, on SQLite or PostgreSQL. */
export async function temporaryDatabase(): Promise<Db> {
  const db = openDatabase(onPostgres ? await newPostgresDatabase() : join(temporaryFolder(), 'test.sqlite'));
  onTestFinished(() => db.destroy());
  if (!onPostgres) await migrate(db);
  return db;
}

/** Settings of where a server keeps what it keeps. */
export interface Installation {
  dataDir: string;
  database: string;
}

/** A place for a server that is new, and lives as long as the test. */
export async function newInstallation(atEnd: AtEnd = onTestFinished): Promise<Installation> {
  const dataDir = temporaryFolder(atEnd);
  return { dataDir, database: onPostgres ? await newPostgresDatabase(atEnd) : 'sqlite' };
}

/** An account with 10 USD. */
export async function newAccount(db: Db, name = 'test'): Promise<string> {
  return db.transaction().execute(async (trx) => {
    const { id } = await createAccount(trx, name, 0);
    await credit(trx, id, toMicroUsd(10), 0);
    return id;
  });
}

/** A PENDING job of the account that is prepared, so that runners claim it. */
export async function newJob(db: Db, accountId: string, fields: Partial<NewJob> = {}): Promise<string> {
  const id = fields.id ?? newUlid();
  const job = {
    id,
    account_id: accountId,
    type: 'image-to-3d',
    idempotency_key: null,
    image_url: 'https://example.com/photo.jpg',
    prepared: 1,
    created_at: 0,
    ...fields,
  };
  await db.transaction().execute((trx) => enqueueJob(trx, job, Number.MAX_SAFE_INTEGER));
  return id;
}

/** An endpoint whose deliveries nobody makes: enough for events to be recorded. */
export async function withEndpoint(db: Db, accountId: string): Promise<void> {
  await db
    .insertInto('webhook_endpoints')
    .values({ account_id: accountId, url: 'https://example.com/hook', sealed_secret: 'v1.', created_at: 0 })
    .execute();
}

/** What was recorded for the account, in order: `[status, progress]` of each event. */
export async function eventsOf(db: Db, accountId: string): Promise<[string | null, number | null][]> {
  const rows = await db
    .selectFrom('outbox')
    .select(['status', 'progress'])
    .where('account_id', '=', accountId)
    .orderBy('seq')
    .execute();
  return rows.map(({ status, progress }) => [status, progress]);
}

export interface Answer {
  status: number;
  headers: Headers;
  /** Parsed when it is JSON, else text. */
  body: unknown;
}

export interface TestServer extends Server {
  config: Config;
  apiKey: string;
  stdout: string;
  /** Calls the API with the first account's key, or another (null: none). A string body is sent as it is. */
  call(method: string, path: string, body?: unknown, key?: string | null): Promise<Answer>;
}

export async function callServer(
  url: string,
  method: string,
  path: string,
  body: unknown,
  key: string | null,
): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    redirect: 'manual',
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  let parsed: unknown = text;
  if (response.headers.get('content-type')?.includes('json')) parsed = JSON.parse(text);
  return { status: response.status, headers: response.headers, body: parsed };
}

/** A whole server on a free port that makes small models. Without `workers` it has no runners, and jobs stay PENDING. */
export async function startServer(
  settings: Record<string, unknown> = {},
  { atEnd = onTestFinished, ...options }: Pick<ServeOptions, 'log' | 'sampleFolder'> & { atEnd?: AtEnd } = {},
): Promise<TestServer> {
  const defaults = { ...smallModels, port: 0, workers: 0, rateLimit: 'off' };
  const place = settings.dataDir === undefined ? await newInstallation(atEnd) : {};
  // Settings without a flag can only come from the file; all of them may.
  const reloadConfig = () => loadConfig({}, {}, { ...defaults, ...place, ...settings });
  const config = reloadConfig();
  if (onPostgres && config.database === 'sqlite')
    throw new Error('a data directory of newInstallation() has a database');
  let stdout = '';
  const server = await serve(config, {
    log: silent,
    reloadConfig,
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: () => {} },
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
    call: (method, path, body, key = apiKey) => callServer(server.url, method, path, body, key),
  };
}

/** A web server on loopback for the length of the test; returns its address. */
export async function site(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Counts what is under way, and keeps the most there ever was at once. */
export class UnderWay {
  #now = 0;
  most = 0;

  begin(): void {
    this.most = Math.max(this.most, ++this.#now);
  }

  end(): void {
    this.#now--;
  }
}

/** Waits until `check` returns something, asking every 50 ms. */
export async function until<T>(check: () => Promise<T | undefined | false>, timeoutMs = 60_000): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`nothing came of it within ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
