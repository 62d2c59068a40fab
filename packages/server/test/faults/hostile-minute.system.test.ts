import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { limits, maxLabelLength, publicTestKey } from '@gen3d/schema';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/config.js';
import type { quotas } from '../../src/data/accounts/quotas.js';
import type { Db } from '../../src/data/db/database.js';
import type { Tables } from '../../src/data/db/tables.js';
import { dataDirOf } from '../../src/data/installation/data-dir.js';
import { limitEvents } from '../../src/data/webhooks/event-retention.js';
import { openAdmin } from '../../src/index.js';
import { type AtEnd, onPostgres, startServer, type TestServer } from '../kit.js';
import { openDatabase } from '../open-database.js';

// Sends the requests that an account is allowed in a minute, without taking a minute. Each value has the maximum
// length, and is random, because PostgreSQL compresses repetitions.

/** The limit on the rows of a table: a quota of each account, or one row for each of a few things. */
type RowBound =
  | { quota: keyof typeof quotas }
  | {
      onePer: 'account' | 'job with a model' | "operator's action" | 'process' | 'instance' | 'installation';
    };

/**
 * States the bound of each table. This does not compile until a new table is listed here.
 */
const rowBounds = {
  accounts: { onePer: "operator's action" },
  api_keys: { quota: 'apiKeys' },
  ledger: { onePer: 'job with a model' },
  // The quota is for jobs without a model. Those with one are limited by inference, and expire after 90 days.
  jobs: { quota: 'jobsWithoutModel' },
  // Deletions of jobs without a model are forgotten after a week.
  deleted_jobs: { onePer: 'job with a model' },
  runners: { onePer: 'process' },
  rates: { onePer: 'instance' },
  webhook_endpoints: { onePer: 'account' },
  events: { quota: 'events' },
  deliveries: { quota: 'events' },
  dashboard_tokens: { quota: 'sessions' },
  clean_up: { onePer: 'installation' },
} as const satisfies Record<keyof Tables, RowBound>;
/** These tables have at most three rows each. */
const onlyOnPostgres = ['asset_location', 'rate_bucket', 'server_key'];

const { rateLimit } = loadConfig({}, {});
if (rateLimit === 'off') throw new Error('The default has no rate limit');
const permitted = 60 * rateLimit.perSecond + rateLimit.burst;
const permittedForTestKey = 60 * (rateLimit.perSecond / 5) + rateLimit.burst;
/** Only part of a minute is sent, and the growth is scaled up. */
const part = 1 / 3;
/** Without dead row versions: how many of these PostgreSQL keeps depends on the other transactions of the moment. */
const maxBytes = 10_000_000;

const ends: Parameters<AtEnd>[0][] = [];
const atEnd: AtEnd = (end) => void ends.push(end);
const agent = new Agent({ keepAlive: true, maxSockets: 16 });
let server: TestServer;
let db: Db;
let newKey: () => Promise<string>;

type Headers = Record<string, string>;

interface Answer {
  headers: { 'set-cookie'?: string[] };
  body: Record<string, string>;
}

/** `fetch` would take most of the time. */
async function send(method: string, path: string, body: unknown, headers: Headers): Promise<Answer> {
  const content = body === undefined ? '' : JSON.stringify(body);
  const own: Headers = { 'content-length': String(Buffer.byteLength(content)), ...headers };
  if (body !== undefined) own['content-type'] = 'application/json';
  const sent = request(server.url + path, { agent, method, headers: own }).end(content);
  const [response] = await once(sent, 'response');
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part;
  if (response.statusCode >= 500) throw new Error(`${method} ${path}: ${response.statusCode} ${text}`);
  return { headers: response.headers, body: text === '' ? {} : JSON.parse(text) };
}

beforeAll(async () => {
  server = await startServer({ compat: true }, { atEnd });
  db = openDatabase(dataDirOf(server.config).database);
  atEnd(() => db.destroy());
  const admin = await openAdmin(server.config);
  atEnd(() => admin.close());
  newKey = async () => {
    const { account_id } = await admin.createAccount(`account ${(await admin.listAccounts()).length}`, 10);
    return (await admin.createKey(account_id)).api_key;
  };
});

afterAll(async () => {
  agent.destroy();
  for (const end of ends.reverse()) await end();
});

/** The size of each table with its indexes, in bytes. */
async function sizes(): Promise<Map<string, number>> {
  const query = onPostgres
    ? sql<{ table: string; bytes: number }>`
        select relname as "table", pg_total_relation_size(oid) as bytes from pg_class
        where relkind = 'r' and relnamespace = 'public'::regnamespace`
    : sql<{ table: string; bytes: number }>`
        select tbl_name as "table", sum(pgsize) as bytes from dbstat join sqlite_master using (name) group by 1`;
  const { rows } = await query.execute(db);
  return new Map(rows.map(({ table, bytes }) => [table, bytes]));
}

/** The size of each table without dead row versions. */
async function sizesWhenVacuumed(): Promise<Map<string, number>> {
  if (onPostgres) await sql`vacuum full`.execute(db);
  return sizes();
}

const randomPictographs = (length: number) =>
  Array.from({ length }, () => String.fromCodePoint(0x1f300 + randomInt(0x300))).join('');

/** An attacker, which counts its requests. */
class Attacker {
  sent = 0;
  readonly #headers: Headers;

  constructor(headers: Headers) {
    this.#headers = headers;
  }

  call = (method: string, path: string, body?: unknown, headers: Headers = {}) => {
    this.sent++;
    return send(method, path, body, { ...this.#headers, ...headers });
  };

  async newJob(headers: Headers = {}): Promise<string | undefined> {
    const job = {
      type: 'image-to-3d',
      idempotency_key: randomPictographs(limits.idempotencyKeyLength.max),
      input: { image_urls: [`https://example.com/${randomBytes(4_096).toString('base64url')}`.slice(0, 4_096)] },
    };
    const labeled = { 'x-gen3d-label': encodeURIComponent(randomPictographs(maxLabelLength)), ...headers };
    return (await this.call('POST', '/v1/jobs', job, labeled)).body.job_id;
  }
}

/** How many bytes each table grows by in a minute, with and without dead row versions. */
interface Growth {
  all: Record<string, number>;
  vacuumed: Record<string, number>;
}

/** Sends a minute's requests quickly, does what housekeeping does, and returns how much each table grows. */
async function grownIn(
  attacker: Attacker,
  step: (attacker: Attacker) => Promise<unknown>,
  { requests = permitted, played = part } = {},
): Promise<Growth> {
  const before = await sizesWhenVacuumed();
  const lane = async () => {
    while (attacker.sent < requests * played) await step(attacker);
  };
  await Promise.all(Array.from({ length: 16 }, lane));
  await limitEvents(db, Date.now());
  const grown = (after: ReadonlyMap<string, number>) => {
    const all = [...after].map(([table, bytes]) => [table, (bytes - (before.get(table) ?? 0)) / played] as const);
    return Object.fromEntries(all.filter(([, bytes]) => bytes > 0));
  };
  return { all: grown(await sizes()), vacuumed: grown(await sizesWhenVacuumed()) };
}

function expectLittle({ all, vacuumed }: Growth, ...tables: (keyof typeof rowBounds)[]): void {
  for (const table of tables) expect(all).toHaveProperty(table);
  for (const [table, bytes] of Object.entries(vacuumed)) expect(bytes, table).toBeLessThan(maxBytes);
}

test('each table of the database has a bound', async () => {
  const names = (await db.introspection.getTables()).map(({ name }) => name);
  expect(names.sort()).toEqual([...Object.keys(rowBounds), ...(onPostgres ? onlyOnPostgres : [])].sort());
});

const createAndCancel = async (attacker: Attacker) => {
  const id = await attacker.newJob();
  await attacker.call('POST', `/gen3d/jobs/${id}/cancel`);
  return id;
};

test('a minute of new jobs grows each table by less than 10 MB', async () => {
  const attacker = new Attacker({ 'x-api-key': await newKey() });
  // Part of a minute would create as many jobs, because the number of unfinished ones is limited.
  expectLittle(await grownIn(attacker, () => attacker.newJob(), { played: 1 }), 'jobs', 'events');
});

test.each([
  ['canceled jobs', createAndCancel, ['jobs', 'events']],
  [
    'deleted jobs',
    async (attacker: Attacker) => attacker.call('DELETE', `/gen3d/jobs/${await attacker.newJob()}`),
    ['deleted_jobs'],
  ],
  [
    'retries',
    async (attacker: Attacker) => {
      const id = await createAndCancel(attacker);
      const { body } = await attacker.call('POST', `/gen3d/jobs/${id}/retry`);
      await attacker.call('POST', `/gen3d/jobs/${body.job_id}/cancel`);
    },
    ['jobs', 'events'],
  ],
  [
    'changes of the endpoint',
    async ({ call, sent }: Attacker) => {
      await call('PUT', '/v1/webhook-endpoint', { url: `https://example.com/${sent}`.padEnd(2_048, 'u') });
      await call('POST', '/v1/webhook-endpoint/rotate');
    },
    [],
  ],
] as const)('a minute of %s grows each table by less than 10 MB', async (_, step, tables) => {
  const attacker = new Attacker({ 'x-api-key': await newKey() });
  expectLittle(await grownIn(attacker, step), ...tables);
});

test('a minute of events for an endpoint that does not exist grows each table by less than 10 MB', async () => {
  const attacker = new Attacker({ 'x-api-key': await newKey() });
  await attacker.call('PUT', '/v1/webhook-endpoint', { url: 'https://example.invalid/'.padEnd(2_048, 'u') });
  const step = async () => {
    await createAndCancel(attacker);
    await attacker.call('POST', '/v1/webhook-endpoint/test');
  };
  expectLittle(await grownIn(attacker, step), 'events', 'deliveries');
});

test('a minute of keys and sessions of the dashboard grows each table by less than 10 MB', async () => {
  const origin = { origin: server.url };
  const signIn = async (api_key: string) => send('POST', '/dashboard/api/session', { api_key }, origin);
  const key = await newKey();
  // Before the account has as many sessions as it may have.
  const sessions = new Attacker(origin);
  const signInAgain = () => sessions.call('POST', '/dashboard/api/session', { api_key: key });
  expectLittle(await grownIn(sessions, signInAgain), 'dashboard_tokens');
  const [cookie = ''] = (await signIn(key)).headers['set-cookie'] ?? [];
  const attacker = new Attacker({ ...origin, cookie: cookie.split(';', 1)[0]! });
  const step = async ({ call }: Attacker) => {
    const { body } = await call('POST', '/dashboard/api/keys', { name: '💡'.repeat(100) });
    if (body.api_key) await call('POST', '/dashboard/api/session', { api_key: body.api_key });
    await call('DELETE', `/dashboard/api/keys/${body.key_id}`);
  };
  expectLittle(await grownIn(attacker, step), 'api_keys');
});

test('a minute of jobs of the public test key grows each table by less than 10 MB', async () => {
  const attacker = new Attacker({ 'x-api-key': publicTestKey });
  expectLittle(await grownIn(attacker, () => attacker.newJob(), { requests: permittedForTestKey }), 'jobs');
});
