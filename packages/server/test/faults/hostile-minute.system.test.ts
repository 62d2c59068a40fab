import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { limits, publicTestKey } from '@gen3d/schema';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/config.js';
import type { quotas } from '../../src/data/accounts/quotas.js';
import type { Db } from '../../src/data/db/database.js';
import type { Tables } from '../../src/data/db/tables.js';
import { limitEvents } from '../../src/data/webhooks/dead-letters.js';
import { limitJobEvents } from '../../src/data/webhooks/job-events.js';
import { openAdmin } from '../../src/index.js';
import { type AtEnd, startServer, type TestServer } from '../kit.js';
import { openDatabase } from '../open-database.js';

// Plays what an account may send in a minute, without waiting for it. Each value is as long as it may be.

/** The limit on the rows of a table: a quota of each account, or one row for each of a few things. */
type RowBound =
  | { quota: keyof typeof quotas }
  | {
      onePer:
        | 'account'
        | "account's day"
        | 'job with a model'
        | "operator's action"
        | 'process'
        | 'instance'
        | 'installation';
    };

/**
 * States the bound of each table. This does not compile until a new table is listed here.
 */
const rowBounds = {
  accounts: { onePer: "operator's action" },
  api_keys: { quota: 'apiKeys' },
  ledger: { onePer: 'job with a model' },
  spend_days: { onePer: "account's day" },
  // The quota is for jobs without a model. Those with one are limited by inference, and expire after 90 days.
  jobs: { quota: 'jobsWithoutModel' },
  // Deletions of jobs without a model are forgotten after a week.
  deleted_jobs: { onePer: 'job with a model' },
  runners: { onePer: 'process' },
  rates: { onePer: 'instance' },
  webhook_endpoints: { onePer: 'account' },
  job_events: { quota: 'events' },
  outbox: { quota: 'events' },
  webhook_deliveries: { quota: 'deliveries' },
  dashboard_tokens: { quota: 'sessions' },
  audit_log: { onePer: "operator's action" },
  clean_up: { onePer: 'installation' },
} as const satisfies Record<keyof Tables, RowBound>;

const { rateLimit } = loadConfig({}, {});
if (rateLimit === 'off') throw new Error('The default has no rate limit');
const permitted = 60 * rateLimit.perSecond + rateLimit.burst;
const permittedForTestKey = 60 * (rateLimit.perSecond / 5) + rateLimit.burst;
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
  db = openDatabase(`${server.config.dataDir}/gen3d.sqlite`);
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
  const { rows } = await sql<{ table: string; bytes: number }>`
    select tbl_name as "table", sum(pgsize) as bytes from dbstat join sqlite_master using (name) group by 1`.execute(
    db,
  );
  return new Map(rows.map(({ table, bytes }) => [table, bytes]));
}

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
    const unique = String(this.sent);
    const job = {
      type: 'image-to-3d',
      idempotency_key: unique + '💡'.repeat(limits.idempotencyKeyLength.max - unique.length),
      input: { image_urls: [`https://example.com/${unique}?`.padEnd(4_096, 'u')] },
    };
    // NFKC makes 18 characters of this one.
    const label = { 'x-gen3d-label': encodeURIComponent('\uFDFA'.repeat(200)) };
    return (await this.call('POST', '/v1/jobs', job, { ...label, ...headers })).body.job_id;
  }
}

/** Sends the requests of a minute as fast as possible, does what housekeeping does, and returns what grew by how much. */
async function grownIn(
  attacker: Attacker,
  step: (attacker: Attacker) => Promise<unknown>,
  requests = permitted,
): Promise<Record<string, number>> {
  const before = await sizes();
  const lane = async () => {
    while (attacker.sent < requests) await step(attacker);
  };
  await Promise.all(Array.from({ length: 16 }, lane));
  await limitEvents(db, Date.now());
  await limitJobEvents(db, Date.now());
  const grown = [...(await sizes())].map(([table, bytes]) => [table, bytes - (before.get(table) ?? 0)] as const);
  return Object.fromEntries(grown.filter(([, bytes]) => bytes > 0));
}

function expectLittle(grown: Record<string, number>, ...tables: (keyof typeof rowBounds)[]): void {
  for (const table of tables) expect(grown).toHaveProperty(table);
  for (const [table, bytes] of Object.entries(grown)) expect(bytes, table).toBeLessThan(maxBytes);
}

test('each table of the database has a bound', async () => {
  const { rows } = await sql<{ name: string }>`
    select name from sqlite_master where type = 'table' and name not like 'sqlite%' and name not like 'kysely%'`.execute(
    db,
  );
  expect(rows.map(({ name }) => name).sort()).toEqual(Object.keys(rowBounds).sort());
});

const createAndCancel = async (attacker: Attacker) => {
  const id = await attacker.newJob();
  await attacker.call('POST', `/gen3d/jobs/${id}/cancel`);
  return id;
};

test.each([
  ['new jobs', (attacker: Attacker) => attacker.newJob(), ['jobs', 'job_events']],
  ['canceled jobs', createAndCancel, ['jobs', 'job_events']],
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
    ['jobs', 'job_events'],
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
  expectLittle(await grownIn(attacker, step), 'outbox', 'webhook_deliveries');
});

test('a minute of keys and sessions of the dashboard grows each table by less than 10 MB', async () => {
  const origin = { origin: server.url };
  const signIn = async (api_key: string) => send('POST', '/dashboard/api/session', { api_key }, origin);
  const key = await newKey();
  const [cookie = ''] = (await signIn(key)).headers['set-cookie'] ?? [];
  const attacker = new Attacker({ ...origin, cookie: cookie.split(';', 1)[0]! });
  const step = async ({ call }: Attacker) => {
    const { body } = await call('POST', '/dashboard/api/keys', { name: '💡'.repeat(100) });
    if (body.api_key) await call('POST', '/dashboard/api/session', { api_key: body.api_key });
    await call('DELETE', `/dashboard/api/keys/${body.key_id}`);
  };
  expectLittle(await grownIn(attacker, step), 'api_keys');
  const sessions = new Attacker(origin);
  const signInAgain = () => sessions.call('POST', '/dashboard/api/session', { api_key: key });
  expectLittle(await grownIn(sessions, signInAgain), 'dashboard_tokens');
});

test('a minute of jobs of the public test key grows each table by less than 10 MB', async () => {
  const attacker = new Attacker({ 'x-api-key': publicTestKey });
  expectLittle(await grownIn(attacker, () => attacker.newJob(), permittedForTestKey), 'jobs');
});
