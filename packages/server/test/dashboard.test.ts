import { gzipSync } from 'node:zlib';
import { CreateJobResponse, ListJobsResponse, publicTestKey } from '@gen3d/schema';
import { describe, expect, test } from 'vitest';
import { version } from '../src/base/version.js';
import { type Db, openDatabase } from '../src/data/db/open.js';
import { currentTime } from '../src/data/db/time.js';
import { openDataDir } from '../src/data/installation/data-dir.js';
import { announce } from '../src/data/runners/registry.js';
import { recordTaskUpdated } from '../src/data/webhooks/outbox.js';
import { photoJob, sharedServer } from './contract/kit.js';
import { type Browser, browsersOn, codeOf, tokenOf } from './dashboard-kit.js';
import { until } from './kit.js';

const { server, admin, newCaller } = sharedServer({ webhookPingDelay: 0, webhookRetryDelays: [] });

const { ownOrigin, ask, signIn, newOperator } = browsersOn(server, admin);

async function withDatabase<T>(work: (db: Db) => Promise<T>): Promise<T> {
  const db = openDatabase(openDataDir(server().config).database);
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}

describe('the pages', () => {
  const open = (path: string, accept = 'text/html,*/*;q=0.8') => fetch(server().url + path, { headers: { accept } });

  test('are at / when a browser opens it, which stays 403 for a program without a key', async () => {
    const page = await open('/');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect(await page.text()).toContain('<div id="app">');
    for (const accept of ['*/*', 'application/json']) {
      expect(await (await open('/', accept)).json()).toEqual({ message: 'Forbidden' });
    }
    expect((await open('/v1/jobs')).status).toBe(403);
    expect((await open('/anything')).status).toBe(403);
  });

  test('may run nothing inline and load nothing from elsewhere', async () => {
    for (const path of ['/', '/dashboard/jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV']) {
      const page = await open(path);
      const policy = page.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self';");
      expect(policy).not.toMatch(/unsafe|https:|data:|\*/);
      const html = await page.text();
      expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
      expect(html).not.toMatch(/(src|href)="(https?:)?\/\//);
    }
  });

  test('name their files by content, so that these are kept for ever and the page itself never', async () => {
    const page = await open('/');
    expect(page.headers.get('cache-control')).toBe('no-cache');
    const script = /src="(\/dashboard\/files\/[^"]+\.js)"/.exec(await page.text())?.[1];
    const file = await open(script ?? '');
    expect(file.headers.get('content-type')).toMatch(/javascript/);
    expect(file.headers.get('cache-control')).toContain('immutable');
  });

  test('are light: all script that they begin with is under 200 kB gzipped, and model-viewer is no part of it', async () => {
    const html = await (await open('/')).text();
    const files = [...html.matchAll(/(?:src|href)="(\/dashboard\/files\/[^"]+\.js)"/g)].map(([, path]) => path!);
    expect(files).toHaveLength(1);
    const script = await (await open(files[0]!)).text();
    expect(gzipSync(script).length).toBeLessThan(200_000);
    expect(script).not.toMatch(/import[^(]{0,80}model-viewer-[\w-]+\.js/);
    expect(script).toMatch(/import\([^)]*model-viewer-[\w-]+\.js/);
  });
});

describe('signing in', () => {
  test('with an API key shows that account and no other', async () => {
    const { accountId, apiKey } = await newCaller();
    const { signedIn } = await signIn({ api_key: apiKey });
    expect(signedIn).toMatchObject({ status: 200, body: { role: 'member', accounts: [{ account_id: accountId }] } });
    expect((signedIn.body as { accounts: unknown[] }).accounts).toHaveLength(1);
  });

  test('with the operator’s link shows every account, and works once', async () => {
    const { accountId } = await newCaller();
    const link = tokenOf(await admin().signInLink());
    const { signedIn } = await signIn({ link });
    expect(signedIn).toMatchObject({ status: 200, body: { role: 'operator' } });
    expect(JSON.stringify(signedIn.body)).toContain(accountId);
    const again = await signIn({ link });
    expect(again.signedIn.status).toBe(403);
    expect(again.cookie).toBeUndefined();
  });

  test('of twenty who use a link at once, one gets in', async () => {
    const link = tokenOf(await admin().signInLink());
    const all = await Promise.all(Array.from({ length: 20 }, () => signIn({ link })));
    expect(all.filter(({ signedIn }) => signedIn.status === 200)).toHaveLength(1);
  });

  test('sets a cookie that no script reads and no other site sends, and that needs https where the server has it', async () => {
    const { apiKey } = await newCaller();
    const { setCookie } = await signIn({ api_key: apiKey });
    expect(setCookie).toMatch(/; Path=\/dashboard;.*HttpOnly; SameSite=Strict/);
    expect(setCookie).not.toContain('Secure');
    const behindTls = await signIn({ api_key: apiKey }, { 'x-forwarded-proto': 'https' });
    expect(behindTls.setCookie).toContain('Secure');
  });

  test.each([
    ['a key nobody has', { api_key: 'gen3d_wrong' }, 403],
    ['the public test key', { api_key: publicTestKey }, 403],
    ['a link nobody printed', { link: 'wrong' }, 403],
    ['nothing', {}, 400],
    ['a number', { api_key: 7 }, 400],
    ['more than a proof needs', { api_key: 'x'.repeat(5_000) }, 400],
  ])('with %s is refused', async (_, proof, status) => {
    const { signedIn, cookie } = await signIn(proof);
    expect(signedIn.status).toBe(status);
    expect(cookie).toBeUndefined();
  });

  test('a session does not sign in as a link, nor a link as a session', async () => {
    const { cookie } = await newOperator();
    expect((await signIn({ link: cookie?.split('=')[1] })).signedIn.status).toBe(403);
    const link = tokenOf(await admin().signInLink());
    const name = cookie?.split('=')[0];
    expect((await ask('GET', '/balance', undefined, { cookie: `${name}=${link}` })).status).toBe(401);
  });
});

describe('a session', () => {
  test('ends when it is signed out, also for who kept the cookie', async () => {
    const { apiKey } = await newCaller();
    const browser = await signIn({ api_key: apiKey });
    expect((await browser.call('GET', '/balance')).status).toBe(200);
    expect((await browser.call('DELETE', '/session')).status).toBe(204);
    expect(codeOf(await browser.call('GET', '/balance'))).toBe('not_signed_in');
  });

  test('ends with the key that began it, and only with that', async () => {
    const { accountId, apiKey } = await newCaller();
    const { key_id, api_key } = await admin().createKey(accountId);
    const first = await signIn({ api_key: apiKey });
    const second = await signIn({ api_key });
    await admin().revokeKey(key_id);
    expect((await second.call('GET', '/balance')).status).toBe(401);
    expect((await first.call('GET', '/balance')).status).toBe(200);
  });

  test('ends after seven days, and a link after an hour', async () => {
    const browser = await newOperator();
    const link = tokenOf(await admin().signInLink());
    const lives = await withDatabase((db) =>
      db.selectFrom('dashboard_tokens').select(['kind', 'created_at', 'expires_at']).execute(),
    );
    for (const { kind, created_at, expires_at } of lives) {
      expect((expires_at - created_at) / 3_600_000).toBe(kind === 'link' ? 1 : 7 * 24);
    }
    await withDatabase((db) => db.updateTable('dashboard_tokens').set({ expires_at: 1 }).execute());
    expect((await browser.call('GET', '/operator/overview')).status).toBe(401);
    expect((await signIn({ link })).signedIn.status).toBe(403);
  });

  test('lies in the database in a form that signs nobody in', async () => {
    const { cookie } = await newOperator();
    const token = cookie?.split('=')[1] ?? '';
    const rows = await withDatabase((db) => db.selectFrom('dashboard_tokens').selectAll().execute());
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain(token);
  });

  test('is nothing to the API, and an API key nothing to the dashboard', async () => {
    const { apiKey } = await newCaller();
    const { cookie } = await signIn({ api_key: apiKey });
    const v1 = await fetch(`${server().url}/v1/balance`, { headers: { cookie: cookie ?? '' } });
    expect(v1.status).toBe(403);
    expect((await ask('GET', '/balance', undefined, { authorization: `Bearer ${apiKey}` })).status).toBe(401);
  });

  test('is forged by nobody: a made-up or empty cookie is nobody', async () => {
    const { cookie } = await newOperator();
    const name = cookie?.split('=')[0];
    for (const value of ['', 'x', '%00', '../../etc']) {
      expect((await ask('GET', '/balance', undefined, { cookie: `${name}=${value}` })).status).toBe(401);
    }
  });
});

/** Every route that changes something. */
const changes = [
  ['POST', '/session'],
  ['DELETE', '/session'],
  ['POST', '/jobs'],
  ['POST', '/keys'],
  ['DELETE', '/keys/01ARZ3NDEKTSV4RRFFQ69G5FAV'],
  ['PUT', '/webhook-endpoint'],
  ['DELETE', '/webhook-endpoint'],
  ['POST', '/webhook-endpoint/rotate'],
  ['POST', '/webhook-endpoint/test'],
  ['POST', '/events/01ARZ3NDEKTSV4RRFFQ69G5FAV/replay'],
  ['PUT', '/operator-password'],
  ['DELETE', '/operator-password'],
  ['POST', '/operator/accounts'],
  ['POST', '/operator/accounts/01ARZ3NDEKTSV4RRFFQ69G5FAV/credit'],
] as const;
/** Every route that only tells, of an account. */
const reads = ['/jobs', '/balance', '/ledger', '/ledger/days', '/keys', '/webhook-endpoint', '/events'] as const;
const operatorReads = ['/operator/overview', '/operator/accounts'] as const;

describe('a page of another site', () => {
  test.each(changes)('cannot %s %s, whatever cookie the browser adds', async (method, path) => {
    const { cookie } = await newOperator();
    const account = (await newCaller()).accountId;
    for (const foreign of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `${server().url}.evil.example` },
      { origin: server().url, 'sec-fetch-site': 'cross-site' },
      { origin: server().url, 'sec-fetch-site': 'same-site' },
      { origin: server().url, 'sec-fetch-site': 'none' },
      {},
    ]) {
      const answer = await ask(method, path, {}, { cookie: cookie ?? '', 'x-gen3d-account': account, ...foreign });
      expect(answer.status).toBe(403);
      expect(codeOf(answer)).toBe('cross_origin');
    }
  });

  test('reads nothing: no answer is opened to other origins', async () => {
    const { apiKey } = await newCaller();
    const browser = await signIn({ api_key: apiKey });
    const { headers } = await browser.call('GET', '/balance', undefined, { origin: 'https://evil.example' });
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect(headers.get('cache-control')).toBe('no-store');
  });
});

describe('without a session', () => {
  test.each([...reads, ...operatorReads].map((path) => ['GET', path] as const))(
    '%s %s is 401',
    async (method, path) => {
      expect(codeOf(await ask(method, path, undefined, {}))).toBe('not_signed_in');
    },
  );
  test.each(changes.filter(([, path]) => path !== '/session'))('%s %s is 401', async (method, path) => {
    expect(codeOf(await ask(method, path, {}, ownOrigin()))).toBe('not_signed_in');
  });
});

describe('a member', () => {
  /** Another account, with one of everything. */
  async function richNeighbour() {
    const caller = await newCaller();
    await caller.call('PUT', '/v1/webhook-endpoint', { url: 'https://neighbour.invalid/hook' });
    const jobId = await caller.create();
    const { key_id } = await admin().createKey(caller.accountId);
    const eventId = await withDatabase(async (db) => {
      const job = await db.selectFrom('jobs').selectAll().where('id', '=', jobId).executeTakeFirstOrThrow();
      await recordTaskUpdated(db, job, Date.now());
      const event = await db
        .selectFrom('outbox')
        .select('event_id')
        .where('account_id', '=', caller.accountId)
        .orderBy('seq', 'desc')
        .executeTakeFirstOrThrow();
      await db.updateTable('outbox').set({ dead_at: 1 }).where('event_id', '=', event.event_id).execute();
      return event.event_id;
    });
    return { ...caller, jobId, keyId: key_id, eventId };
  }

  test('who names another account meets none, on any route', async () => {
    const neighbour = await richNeighbour();
    const { call } = await signIn({ api_key: (await newCaller()).apiKey });
    const named = { 'x-gen3d-account': neighbour.accountId };
    for (const path of reads) {
      expect(await call('GET', path, undefined, named)).toMatchObject({ status: 404 });
    }
    for (const [method, path] of changes) {
      if (path === '/session' || path.startsWith('/operator')) continue;
      expect(await call(method, path, {}, named)).toMatchObject({ status: 404 });
    }
  });

  test('finds nothing of another account under its own name either', async () => {
    const { jobId, keyId, eventId, accountId, apiKey } = await richNeighbour();
    const { call } = await signIn({ api_key: (await newCaller()).apiKey });
    for (const path of reads) expect(JSON.stringify((await call('GET', path)).body)).not.toContain(accountId);
    expect(ListJobsResponse.parse((await call('GET', '/jobs')).body).jobs).toEqual([]);
    for (const [method, path] of [
      ['GET', `/jobs/${jobId}`],
      ['GET', `/job-details/${jobId}`],
      ['DELETE', `/keys/${keyId}`],
      ['GET', `/events/${eventId}/deliveries`],
      ['POST', `/events/${eventId}/replay`],
    ] as const) {
      expect(await call(method, path)).toMatchObject({ status: 404 });
    }
    expect((await server().call('GET', '/v1/balance', undefined, apiKey)).status).toBe(200);
    const own = await signIn({ api_key: apiKey });
    expect((await own.call('GET', `/jobs/${jobId}`)).status).toBe(200);
    expect((await own.call('GET', `/events/${eventId}/deliveries`)).status).toBe(200);
    const { keys } = (await own.call('GET', '/keys')).body as { keys: { key_id: string; revoked_at: unknown }[] };
    expect(keys.find(({ key_id }) => key_id === keyId)?.revoked_at).toBeNull();
  });

  test.each(operatorReads)('is no operator: GET %s is 403', async (path) => {
    const { call } = await signIn({ api_key: (await newCaller()).apiKey });
    expect(codeOf(await call('GET', path))).toBe('operator_only');
  });

  test('can neither make accounts nor money, nor set the operator’s password', async () => {
    const { accountId, apiKey } = await newCaller();
    const { call } = await signIn({ api_key: apiKey });
    expect(codeOf(await call('PUT', '/operator-password', { password: 'long enough to be one' }))).toBe(
      'operator_only',
    );
    expect(codeOf(await call('DELETE', '/operator-password'))).toBe('operator_only');
    expect(codeOf(await call('POST', '/operator/accounts', { name: 'mine' }))).toBe('operator_only');
    expect(codeOf(await call('POST', `/operator/accounts/${accountId}/credit`, { usd: 5 }))).toBe('operator_only');
    expect((await call('GET', '/balance')).body).toMatchObject({ balance_usd: 10 });
  });
});

describe('jobs', () => {
  test('are created as by the API, once per key, and are the same there', async () => {
    const { apiKey, list } = await newCaller();
    const { call } = await signIn({ api_key: apiKey });
    const body = photoJob({ idempotency_key: 'dashboard-1' });
    const answers = await Promise.all([call('POST', '/jobs', body), call('POST', '/jobs', body)]);
    const ids = answers.map((answer) => CreateJobResponse.parse(answer.body).job_id);
    expect(new Set(ids).size).toBe(1);
    expect((await list()).jobs.map(({ task_id }) => task_id)).toEqual([ids[0]]);
    expect((await call('GET', `/job-details/${ids[0]}`)).body).toEqual({
      image_url: 'https://example.com/photo.jpg',
      attempts: 0,
      cost_usd: null,
      instance: null,
      inference_seconds: null,
      stages: null,
      events: [],
    });
  });

  test('show how long each stage took once they have succeeded, to their own account', async () => {
    const { apiKey, create } = await newCaller();
    const id = await create();
    const stageTimes = { prepare: 12, matte: 1_300, encode: 240, store: 4 };
    await withDatabase((db) =>
      db
        .updateTable('jobs')
        .set({ stage_ms: JSON.stringify(stageTimes) })
        .where('id', '=', id)
        .execute(),
    );
    const { body } = await (await signIn({ api_key: apiKey })).call('GET', `/job-details/${id}`);
    expect((body as { stages: unknown }).stages).toEqual([
      { stage: 'prepare', ms: 12 },
      { stage: 'matte', ms: 1_300 },
      { stage: 'encode', ms: 240 },
      { stage: 'store', ms: 4 },
    ]);
    const ofApi = await server().call('GET', `/v1/jobs/${id}`, undefined, apiKey);
    expect(Object.keys(ofApi.body as object)).not.toContain('stages');
  });

  test('that the API refuses are refused here in the same words', async () => {
    const { apiKey } = await newCaller(0);
    const { call } = await signIn({ api_key: apiKey });
    for (const body of [{}, photoJob()]) {
      const here = await call('POST', '/jobs', body);
      const there = await server().call('POST', '/v1/jobs', body, apiKey);
      expect([here.status, here.body]).toEqual([there.status, there.body]);
    }
  });
});

describe('a key', () => {
  interface Listed {
    key_id: string;
    name: string | null;
    last_used_at: string | null;
  }
  const listed = async ({ call }: Browser) => ((await call('GET', '/keys')).body as { keys: Listed[] }).keys;

  test('is shown when it is made, works at once, and is refused once revoked', async () => {
    const browser = await signIn({ api_key: (await newCaller()).apiKey });
    const { call } = browser;
    const made = (await call('POST', '/keys', { name: ' web shop ' })).body as { key_id: string; api_key: string };
    expect((await server().call('GET', '/v1/balance', undefined, made.api_key)).status).toBe(200);
    const keys = await listed(browser);
    expect(keys.find(({ key_id }) => key_id === made.key_id)?.name).toBe('web shop');
    expect(JSON.stringify(keys)).not.toContain(made.api_key);
    expect((await call('DELETE', `/keys/${made.key_id}`)).status).toBe(204);
    expect((await server().call('GET', '/v1/balance', undefined, made.api_key)).status).toBe(403);
  });

  test.each([
    ['no name', {}],
    ['an empty one', { name: ' ' }],
    ['one of 101 characters', { name: 'x'.repeat(101) }],
    ['a number', { name: 7 }],
  ])('with %s is not made', async (_, body) => {
    const browser = await signIn({ api_key: (await newCaller()).apiKey });
    expect(codeOf(await browser.call('POST', '/keys', body))).toBe('invalid_request');
    expect(await listed(browser)).toHaveLength(1);
  });

  test('tells when it was last used, which is not written down again within a minute', async () => {
    const browser = await signIn({ api_key: (await newCaller()).apiKey });
    const { key_id, api_key } = (await browser.call('POST', '/keys', { name: 'shop' })).body as {
      key_id: string;
      api_key: string;
    };
    const lastUsed = async () => (await listed(browser)).find((key) => key.key_id === key_id)?.last_used_at;
    expect(await lastUsed()).toBeNull();
    const use = () => server().call('GET', '/v1/balance', undefined, api_key);
    await use();
    const first = await until(async () => (await lastUsed()) ?? undefined);
    expect(Math.abs(Date.parse(first) - Date.now())).toBeLessThan(60_000);
    await withDatabase((db) => db.updateTable('api_keys').set({ last_used_at: 0 }).where('id', '=', key_id).execute());
    for (let count = 0; count < 5; count++) await use();
    expect(await lastUsed()).toBe('1970-01-01T00:00:00.000Z');
  });
});

test('the ledger has every movement, newest first, page by page', async () => {
  const { accountId, apiKey } = await newCaller();
  for (let number = 1; number <= 60; number++) await admin().creditAccount(accountId, number);
  const { call } = await signIn({ api_key: apiKey });
  type Page = { entries: { amount_usd: number }[]; next_cursor?: string };
  const first = (await call('GET', '/ledger')).body as Page;
  const second = (await call('GET', `/ledger?cursor=${first.next_cursor}`)).body as Page;
  const amounts = [...first.entries, ...second.entries].map(({ amount_usd }) => amount_usd);
  expect(amounts).toEqual([...Array.from({ length: 60 }, (_, index) => 60 - index), 10]);
  expect(second.next_cursor).toBeUndefined();
  expect(codeOf(await call('GET', '/ledger?cursor=made-up'))).toBe('invalid_cursor');
});

test('what a day has cost is the sum of its charges', async () => {
  const { accountId, apiKey } = await newCaller();
  const jobs = ['01ARZ3NDEKTSV4RRFFQ69G5FA1', '01ARZ3NDEKTSV4RRFFQ69G5FA2'];
  await withDatabase((db) =>
    db
      .insertInto('ledger')
      .values(
        jobs.map((job_id, index) => ({
          id: `01BX5ZZKBKACTAV9WEVGEMMVS${index}`,
          account_id: accountId,
          amount_microusd: -250_000,
          kind: 'charge' as const,
          job_id,
          instance: 'cpu',
          inference_ms: 100,
          created_at: Date.now(),
        })),
      )
      .execute(),
  );
  const { call } = await signIn({ api_key: apiKey });
  const { days } = (await call('GET', '/ledger/days')).body as { days: { spent_usd: number; jobs: number }[] };
  expect(days).toHaveLength(30);
  expect(days.at(-1)).toMatchObject({ spent_usd: 0.5, jobs: 2 });
  expect(days.slice(0, -1).every(({ jobs }) => jobs === 0)).toBe(true);
});

test('a ping that nobody takes is seen as a dead letter with its attempts, and replayed', async () => {
  const { apiKey } = await newCaller();
  const { call } = await signIn({ api_key: apiKey });
  await call('PUT', '/webhook-endpoint', { url: 'https://nowhere.invalid/hook' });
  expect((await call('POST', '/webhook-endpoint/test')).status).toBe(202);
  interface Event {
    event_id: string;
    state: string;
    attempts: number;
    last_result: string | null;
  }
  /** The ping, once so many attempts at it have failed. */
  const deadAfter = (attempts: number, query = '') =>
    until(async () => {
      const [event] = ((await call('GET', `/events${query}`)).body as { events: Event[] }).events;
      return event?.state === 'dead' && event.attempts === attempts && event;
    });
  const letter = await deadAfter(1);
  expect(letter.last_result).toBe('the host name is unknown');
  expect((await call('POST', `/events/${letter.event_id}/replay`)).status).toBe(202);
  expect((await deadAfter(2, '?undelivered=true')).event_id).toBe(letter.event_id);
  const { deliveries } = (await call('GET', `/events/${letter.event_id}/deliveries`)).body as { deliveries: unknown[] };
  const attempt = {
    request: expect.objectContaining({ url: 'https://nowhere.invalid/hook' }),
    response: null,
    failure: 'the host name is unknown',
  };
  expect(deliveries).toEqual([expect.objectContaining(attempt), expect.objectContaining(attempt)]);
});

test('an event whose last attempt failed when the endpoint was removed counts as dropped', async () => {
  const { apiKey, accountId, call } = await newCaller();
  await call('PUT', '/v1/webhook-endpoint', { url: 'https://nowhere.invalid/hook' });
  await call('POST', '/v1/webhook-endpoint/test');
  const browser = await signIn({ api_key: apiKey });
  const states = async () => {
    const { events } = (await browser.call('GET', '/events')).body as { events: { state: string }[] };
    return events.map(({ state }) => state);
  };
  await until(async () => (await states()).includes('dead'));
  await withDatabase((db) => db.deleteFrom('outbox').where('account_id', '=', accountId).execute());
  expect(await states()).toEqual(['dropped']);
  expect((await browser.call('GET', '/events?undelivered=true')).body).toMatchObject({ events: [] });
});

describe('the operator', () => {
  test('acts for any account, by naming it', async () => {
    const { accountId, create } = await newCaller();
    const jobId = await create();
    const { call } = await newOperator();
    const named = { 'x-gen3d-account': accountId };
    expect((await call('GET', `/jobs/${jobId}`, undefined, named)).status).toBe(200);
    expect((await call('GET', '/jobs')).status).toBe(400);
    expect((await call('GET', '/jobs', undefined, { 'x-gen3d-account': 'nobody' })).status).toBe(404);
  });

  test('makes accounts and gives credit', async () => {
    const { call } = await newOperator();
    const made = (await call('POST', '/operator/accounts', { name: 'ann', balance_usd: 2 })).body;
    const { account_id } = made as { account_id: string };
    expect((await call('POST', `/operator/accounts/${account_id}/credit`, { usd: 3.5 })).body).toEqual({
      account_id,
      balance_usd: 5.5,
    });
    const { accounts } = (await call('GET', '/operator/accounts')).body as { accounts: unknown[] };
    expect(accounts).toContainEqual(
      expect.objectContaining({ account_id, name: 'ann', balance_usd: 5.5, open_jobs: 0 }),
    );
    expect((await call('POST', '/operator/accounts/nobody/credit', { usd: 1 })).status).toBe(404);
    expect((await call('POST', `/operator/accounts/${account_id}/credit`, { usd: 'much' })).status).toBe(400);
    expect((await call('POST', '/operator/accounts', { name: ' ' })).status).toBe(400);
  });

  test('sees what the server does', async () => {
    await (await newCaller()).create();
    const { body } = await (await newOperator()).call('GET', '/operator/overview');
    expect(body).toMatchObject({ version, node: process.version, jobs: { PENDING: expect.any(Number) } });
    expect((body as { runners: unknown }).runners).toEqual([]);
  });

  test('sees the workers of all machines, and what they do', async () => {
    const { create } = await newCaller();
    const id = await create();
    const runner = { pid: 1, version: '0.0.9', instance: 'g6e', bundle: 'gen3d-base', device: 'cuda' };
    await withDatabase(async (db) => {
      await announce(db, { id: 'a', host: 'gpu-1', adapter: 'NVIDIA L40S', ...runner }, 3_600_000, currentTime(db));
      await announce(db, { id: 'b', host: 'gone', adapter: null, ...runner }, 0, currentTime(db));
      await db.updateTable('jobs').set({ runner: 'a', status: 'IN_PROGRESS' }).where('id', '=', id).execute();
    });
    const { body } = await (await newOperator()).call('GET', '/operator/overview');
    const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect((body as { runners: unknown }).runners).toEqual([
      {
        runner_id: 'a',
        host: 'gpu-1',
        version: '0.0.9',
        instance: 'g6e',
        bundle: 'gen3d-base',
        device: 'cuda',
        adapter: 'NVIDIA L40S',
        task_id: id,
        started_at: iso,
        heartbeat_at: iso,
      },
    ]);
  });

  test('cannot use the sandbox to send events anywhere, nor to make keys for it', async () => {
    const { call, signedIn } = await newOperator();
    const { accounts } = signedIn.body as { accounts: { account_id: string; sandbox: boolean }[] };
    const named = { 'x-gen3d-account': accounts.find(({ sandbox }) => sandbox)?.account_id ?? '' };
    expect((await call('PUT', '/webhook-endpoint', { url: 'https://example.com' }, named)).status).toBe(403);
    expect((await call('POST', '/keys', undefined, named)).status).toBe(403);
  });
});
