import { gzipSync } from 'node:zlib';
import { CreateJobResponse, ListJobsResponse, publicTestKey } from '@gen3d/schema';
import {
  CreatedKey,
  EventList,
  JobDetails,
  KeyList,
  LastDelivery,
  LedgerPage,
  OperatorAccountList,
  Overview,
} from '@gen3d/schema/dashboard';
import { sql } from 'kysely';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { version } from '../src/base/version.js';
import { currentTime } from '../src/data/db/time.js';
import { announce } from '../src/data/runners/registry.js';
import { recordTaskUpdated } from '../src/data/webhooks/events.js';
import { photoJob, sharedServer } from './contract/kit.js';
import { type Browser, browsersOn, codeOf, tokenOf } from './dashboard-kit.js';
import { adminOf, databaseOf, startServer, until } from './kit.js';

const { server, admin, newCaller } = sharedServer({ webhookPingDelay: 0, webhookRetryDelays: [] });

const { ownOrigin, send, signIn, newOperator } = browsersOn(server, admin);

const database = () => databaseOf(server());

describe('the pages', () => {
  const open = (path: string, accept = 'text/html,*/*;q=0.8') => fetch(server().url + path, { headers: { accept } });

  test('are served at / to a browser, and programs without a key get 403 there', async () => {
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

  test('have no inline code and load nothing from other origins', async () => {
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

  test('name their files by content, so that browsers cache the files but not the page', async () => {
    const page = await open('/');
    expect(page.headers.get('cache-control')).toBe('no-cache');
    const script = /src="(\/dashboard\/files\/[^"]+\.js)"/.exec(await page.text())?.[1];
    const file = await open(script ?? '');
    expect(file.headers.get('content-type')).toMatch(/javascript/);
    expect(file.headers.get('cache-control')).toContain('immutable');
  });

  test('start with less than 200 kB of compressed script, which does not include model-viewer', async () => {
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

  test('with the operator’s link shows every account, and the link works once', async () => {
    const { accountId } = await newCaller();
    const link = tokenOf(await admin().signInLink());
    const { signedIn } = await signIn({ link });
    expect(signedIn).toMatchObject({ status: 200, body: { role: 'operator' } });
    expect(JSON.stringify(signedIn.body)).toContain(accountId);
    const again = await signIn({ link });
    expect(again.signedIn.status).toBe(403);
    expect(again.cookie).toBeUndefined();
  });

  test('with the same link twenty times concurrently succeeds once', async () => {
    const link = tokenOf(await admin().signInLink());
    const all = await Promise.all(Array.from({ length: 20 }, () => signIn({ link })));
    expect(all.filter(({ signedIn }) => signedIn.status === 200)).toHaveLength(1);
  });

  test('sets a cookie that scripts cannot read, other sites do not send, and https servers restrict to https', async () => {
    const { apiKey } = await newCaller();
    const { setCookie } = await signIn({ api_key: apiKey });
    expect(setCookie).toMatch(/; Path=\/dashboard;.*HttpOnly; SameSite=Strict/);
    expect(setCookie).not.toContain('Secure');
    const behindTls = await signIn({ api_key: apiKey }, { 'x-forwarded-proto': 'https' });
    expect(behindTls.setCookie).toMatch(/^__Host-gen3d_session_\d+=.*; Path=\/;.*HttpOnly; Secure; SameSite=Strict/);
    expect(behindTls.setCookie).not.toContain('Domain');
    const https = { 'x-forwarded-proto': 'https' };
    expect((await behindTls.call('GET', '/balance', undefined, https)).status).toBe(200);
    expect((await behindTls.call('GET', '/balance')).status).toBe(401);
    expect((await behindTls.call('DELETE', '/session', undefined, https)).status).toBe(204);
    expect((await behindTls.call('GET', '/balance', undefined, https)).status).toBe(401);
  });

  test('with two session cookies is refused, because another program may have set one', async () => {
    const [mine, other] = [await newCaller(), await newCaller()];
    const { cookie } = await signIn({ api_key: mine.apiKey });
    const { cookie: planted } = await signIn({ api_key: other.apiKey });
    for (const both of [`${cookie}; ${planted}`, `${planted}; ${cookie}`]) {
      for (const path of ['/balance', '/session']) {
        const refused = await send('GET', path, undefined, { cookie: both });
        expect([refused.status, JSON.stringify(refused.body)]).toEqual([
          400,
          expect.stringContaining('Delete the cookies'),
        ]);
      }
    }
    expect((await send('GET', '/balance', undefined, { cookie: `${cookie}; theme=dark` })).status).toBe(200);
  });

  test.each([
    ['an unknown key', { api_key: 'gen3d_wrong' }, 403],
    ['the public test key', { api_key: publicTestKey }, 403],
    ['an unknown link', { link: 'wrong' }, 403],
    ['no credentials', {}, 400],
    ['a number as key', { api_key: 7 }, 400],
    ['a body of more than 4 KiB', { api_key: 'x'.repeat(5_000) }, 400],
  ])('with %s is refused', async (_, credentials, status) => {
    const { signedIn, cookie } = await signIn(credentials);
    expect(signedIn.status).toBe(status);
    expect(cookie).toBeUndefined();
  });

  test('does not accept a session token as a link, nor a link token as a session', async () => {
    const { cookie } = await newOperator();
    expect((await signIn({ link: cookie?.split('=')[1] })).signedIn.status).toBe(403);
    const link = tokenOf(await admin().signInLink());
    const name = cookie?.split('=')[0];
    expect((await send('GET', '/balance', undefined, { cookie: `${name}=${link}` })).status).toBe(401);
  });
});

describe('a session', () => {
  test('ends on signing out, even for a client that kept the cookie', async () => {
    const { apiKey } = await newCaller();
    const browser = await signIn({ api_key: apiKey });
    expect((await browser.call('GET', '/balance')).status).toBe(200);
    expect((await browser.call('DELETE', '/session')).status).toBe(204);
    expect(codeOf(await browser.call('GET', '/balance'))).toBe('not_signed_in');
  });

  test('ends when its key is revoked, and other sessions do not', async () => {
    const { accountId, apiKey } = await newCaller();
    const { key_id, api_key } = await admin().createKey(accountId);
    const first = await signIn({ api_key: apiKey });
    const second = await signIn({ api_key });
    await admin().revokeKey(key_id);
    expect((await second.call('GET', '/balance')).status).toBe(401);
    expect((await first.call('GET', '/balance')).status).toBe(200);
  });

  test('does not begin with a key that is revoked meanwhile', async () => {
    const { apiKey } = await newCaller();
    const db = database();
    await sql`create trigger revoke_key after insert on dashboard_tokens
      begin update api_keys set revoked_at = 1 where id = new.key_id; end`.execute(db);
    const { signedIn, setCookie } = await signIn({ api_key: apiKey });
    await sql`drop trigger revoke_key`.execute(db);
    expect(signedIn.status).toBe(403);
    expect(codeOf(signedIn)).toBe('sign_in_failed');
    expect(setCookie).toBe('');
  });

  test('expires after seven days, and a link after an hour', async () => {
    const browser = await newOperator();
    const link = tokenOf(await admin().signInLink());
    const tokens = await database()
      .selectFrom('dashboard_tokens')
      .select(['kind', 'created_at', 'expires_at'])
      .execute();
    for (const { kind, created_at, expires_at } of tokens) {
      expect((expires_at - created_at) / 3_600_000).toBe(kind === 'link' ? 1 : 7 * 24);
    }
    await database().updateTable('dashboard_tokens').set({ expires_at: 1 }).execute();
    expect((await browser.call('GET', '/operator/overview')).status).toBe(401);
    expect((await signIn({ link })).signedIn.status).toBe(403);
  });

  test('is stored as a hash', async () => {
    const { cookie } = await newOperator();
    const token = cookie?.split('=')[1] ?? '';
    const rows = await database().selectFrom('dashboard_tokens').selectAll().execute();
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain(token);
  });

  test('does not work for the API, nor an API key for the dashboard', async () => {
    const { apiKey } = await newCaller();
    const { cookie } = await signIn({ api_key: apiKey });
    const v1 = await fetch(`${server().url}/v1/balance`, { headers: { cookie: cookie ?? '' } });
    expect(v1.status).toBe(403);
    expect((await send('GET', '/balance', undefined, { authorization: `Bearer ${apiKey}` })).status).toBe(401);
  });

  test('cannot be forged: an invented or empty cookie is refused', async () => {
    const { cookie } = await newOperator();
    const name = cookie?.split('=')[0];
    for (const value of ['', 'x', '%00', '../../etc']) {
      expect((await send('GET', '/balance', undefined, { cookie: `${name}=${value}` })).status).toBe(401);
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
  ['POST', '/operator/accounts'],
  ['POST', '/operator/accounts/01ARZ3NDEKTSV4RRFFQ69G5FAV/credit'],
] as const;
/** Every route that only reads data of an account. */
const reads = ['/jobs', '/balance', '/ledger', '/keys', '/webhook-endpoint', '/events'] as const;
const operatorReads = ['/operator/overview', '/operator/accounts'] as const;

describe('a page of another site', () => {
  test.each(changes)('cannot %s %s, even with a valid cookie', async (method, path) => {
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
      const response = await send(method, path, {}, { cookie: cookie ?? '', 'x-gen3d-account': account, ...foreign });
      expect(response.status).toBe(403);
      expect(codeOf(response)).toBe('cross_origin');
    }
  });

  test('cannot read responses', async () => {
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
      expect(codeOf(await send(method, path, undefined, {}))).toBe('not_signed_in');
    },
  );
  test.each(changes.filter(([, path]) => path !== '/session'))('%s %s is 401', async (method, path) => {
    expect(codeOf(await send(method, path, {}, ownOrigin()))).toBe('not_signed_in');
  });
});

describe('a member', () => {
  /** Another account, with one of everything. */
  async function richNeighbor() {
    const caller = await newCaller();
    await caller.call('PUT', '/v1/webhook-endpoint', { url: 'https://neighbor.invalid/hook' });
    const jobId = await caller.create();
    const { key_id } = await admin().createKey(caller.accountId);
    const db = database();
    const job = await db.selectFrom('jobs').selectAll().where('id', '=', jobId).executeTakeFirstOrThrow();
    await recordTaskUpdated(db, job, Date.now());
    const { event_id } = await db
      .selectFrom('deliveries')
      .select('event_id')
      .where('account_id', '=', caller.accountId)
      .orderBy('event_id', 'desc')
      .executeTakeFirstOrThrow();
    await db.updateTable('deliveries').set({ state: 'dead', ended_at: 1 }).where('event_id', '=', event_id).execute();
    return { ...caller, jobId, keyId: key_id, eventId: event_id };
  }

  test('gets 404 on every route when naming another account', async () => {
    const neighbor = await richNeighbor();
    const { call } = await signIn({ api_key: (await newCaller()).apiKey });
    const named = { 'x-gen3d-account': neighbor.accountId };
    for (const path of reads) {
      expect(await call('GET', path, undefined, named)).toMatchObject({ status: 404 });
    }
    for (const [method, path] of changes) {
      if (path === '/session' || path.startsWith('/operator')) continue;
      expect(await call(method, path, {}, named)).toMatchObject({ status: 404 });
    }
  });

  test('cannot reach data of another account by its id', async () => {
    const { jobId, keyId, eventId, accountId, apiKey } = await richNeighbor();
    const { call } = await signIn({ api_key: (await newCaller()).apiKey });
    for (const path of reads) expect(JSON.stringify((await call('GET', path)).body)).not.toContain(accountId);
    expect(ListJobsResponse.parse((await call('GET', '/jobs')).body).jobs).toEqual([]);
    for (const [method, path] of [
      ['GET', `/jobs/${jobId}`],
      ['GET', `/job-details/${jobId}`],
      ['DELETE', `/keys/${keyId}`],
      ['GET', `/events/${eventId}/delivery`],
      ['POST', `/events/${eventId}/replay`],
    ] as const) {
      expect(await call(method, path)).toMatchObject({ status: 404 });
    }
    expect((await server().call('GET', '/v1/balance', undefined, apiKey)).status).toBe(200);
    const own = await signIn({ api_key: apiKey });
    expect((await own.call('GET', `/jobs/${jobId}`)).status).toBe(200);
    expect((await own.call('GET', `/events/${eventId}/delivery`)).status).toBe(200);
    const { keys } = KeyList.parse((await own.call('GET', '/keys')).body);
    expect(keys.find(({ key_id }) => key_id === keyId)?.revoked_at).toBeNull();
  });

  test.each(operatorReads)('gets 403 for GET %s of the operator', async (path) => {
    const { call } = await signIn({ api_key: (await newCaller()).apiKey });
    expect(codeOf(await call('GET', path))).toBe('operator_only');
  });

  test('cannot create accounts or give credit', async () => {
    const { accountId, apiKey } = await newCaller();
    const { call } = await signIn({ api_key: apiKey });
    expect(codeOf(await call('POST', '/operator/accounts', { name: 'mine' }))).toBe('operator_only');
    expect(codeOf(await call('POST', `/operator/accounts/${accountId}/credit`, { usd: 5 }))).toBe('operator_only');
    expect((await call('GET', '/balance')).body).toMatchObject({ balance_usd: 10 });
  });
});

describe('jobs', () => {
  test('are created as by the API, once per idempotency key, and appear in the API', async () => {
    const { apiKey, list } = await newCaller();
    const { call } = await signIn({ api_key: apiKey });
    const body = photoJob({ idempotency_key: 'dashboard-1' });
    const responses = await Promise.all([call('POST', '/jobs', body), call('POST', '/jobs', body)]);
    const ids = responses.map((response) => CreateJobResponse.parse(response.body).job_id);
    expect(new Set(ids).size).toBe(1);
    expect((await list()).jobs.map(({ task_id }) => task_id)).toEqual([ids[0]]);
    expect(JobDetails.parse((await call('GET', `/job-details/${ids[0]}`)).body)).toEqual({
      image_urls: { front: 'https://example.com/photo.jpg' },
      attempts: 0,
      cost_usd: null,
      instance: null,
      bundle: null,
      stages: null,
      events: [],
    });
  });

  test('show how long each stage took, which the API does not', async () => {
    const { apiKey, create } = await newCaller();
    const id = await create();
    const stageTimes = { prepare: 12, matte: 1_300, encode: 240, store: 4 };
    await database()
      .updateTable('jobs')
      .set({ stage_ms: JSON.stringify(stageTimes) })
      .where('id', '=', id)
      .execute();
    const { body } = await (await signIn({ api_key: apiKey })).call('GET', `/job-details/${id}`);
    const inOrder = Object.entries(stageTimes).map(([stage, ms]) => ({ stage, ms }));
    expect(JobDetails.parse(body).stages).toEqual(inOrder);
    const fromApi = await server().call('GET', `/v1/jobs/${id}`, undefined, apiKey);
    expect(Object.keys(fromApi.body as object)).not.toContain('stages');
  });

  test('are refused with the same responses as by the API', async () => {
    const { apiKey } = await newCaller(0);
    const { call } = await signIn({ api_key: apiKey });
    for (const body of [{}, photoJob()]) {
      const fromDashboard = await call('POST', '/jobs', body);
      const fromApi = await server().call('POST', '/v1/jobs', body, apiKey);
      expect([fromDashboard.status, fromDashboard.body]).toEqual([fromApi.status, fromApi.body]);
    }
  });
});

describe('a key', () => {
  const listKeys = async ({ call }: Browser) => KeyList.parse((await call('GET', '/keys')).body).keys;
  const createKey = async ({ call }: Browser, name: string) =>
    CreatedKey.parse((await call('POST', '/keys', { name })).body);

  test('is shown once, works immediately, and is refused once revoked', async () => {
    const browser = await signIn({ api_key: (await newCaller()).apiKey });
    const { call } = browser;
    const created = await createKey(browser, ' web shop ');
    expect((await server().call('GET', '/v1/balance', undefined, created.api_key)).status).toBe(200);
    const keys = await listKeys(browser);
    expect(keys.find(({ key_id }) => key_id === created.key_id)).toMatchObject({
      name: 'web shop',
      ending: created.api_key.slice(-4),
    });
    expect(JSON.stringify(keys)).not.toContain(created.api_key);
    expect((await call('DELETE', `/keys/${created.key_id}`)).status).toBe(204);
    expect((await server().call('GET', '/v1/balance', undefined, created.api_key)).status).toBe(403);
  });

  test('has a name without control characters and invisible ones', async () => {
    const browser = await signIn({ api_key: (await newCaller()).apiKey });
    const { key_id, name } = await createKey(browser, '\u001B]0;pwned\u0007\u001B[31mshop\n\u202E\u200B1');
    expect(name).toBe(']0;pwned [31mshop 1');
    expect((await listKeys(browser)).find((key) => key.key_id === key_id)?.name).toBe(name);
  });

  test.each([
    ['no name', {}],
    ['an empty name', { name: ' ' }],
    ['only invisible characters in its name', { name: '\u200B' }],
    ['a name of 101 characters', { name: 'x'.repeat(101) }],
    ['a number as name', { name: 7 }],
    ['U+0000 in its name', { name: 'a\u0000b' }],
  ])('with %s is not created', async (_, body) => {
    const browser = await signIn({ api_key: (await newCaller()).apiKey });
    expect(codeOf(await browser.call('POST', '/keys', body))).toBe('invalid_request');
    expect(await listKeys(browser)).toHaveLength(1);
  });

  test('shows when it was last used, updated at most once a minute', async () => {
    const browser = await signIn({ api_key: (await newCaller()).apiKey });
    const { key_id, api_key } = await createKey(browser, 'shop');
    const lastUsed = async () => (await listKeys(browser)).find((key) => key.key_id === key_id)?.last_used_at;
    expect(await lastUsed()).toBeNull();
    const use = () => server().call('GET', '/v1/balance', undefined, api_key);
    await use();
    const first = await until(async () => (await lastUsed()) ?? undefined);
    expect(Math.abs(Date.parse(first) - Date.now())).toBeLessThan(60_000);
    await database().updateTable('api_keys').set({ last_used_at: 0 }).where('id', '=', key_id).execute();
    for (let count = 0; count < 5; count++) await use();
    expect(await lastUsed()).toBe('1970-01-01T00:00:00.000Z');
  });
});

test('the ledger lists every entry, newest first, in pages', async () => {
  const { accountId, apiKey } = await newCaller();
  for (let number = 1; number <= 60; number++) await admin().creditAccount(accountId, number);
  const { call } = await signIn({ api_key: apiKey });
  const first = LedgerPage.parse((await call('GET', '/ledger')).body);
  const second = LedgerPage.parse((await call('GET', `/ledger?cursor=${first.next_cursor}`)).body);
  const amounts = [...first.entries, ...second.entries].map(({ amount_usd }) => amount_usd);
  expect(amounts).toEqual([...Array.from({ length: 60 }, (_, index) => 60 - index), 10]);
  expect(second.next_cursor).toBeUndefined();
  expect(codeOf(await call('GET', '/ledger?cursor=made-up'))).toBe('invalid_cursor');
});

test('a ping that fails is listed as a dead letter with its last attempt, and can be replayed', async () => {
  const { apiKey } = await newCaller();
  const { call } = await signIn({ api_key: apiKey });
  await call('PUT', '/webhook-endpoint', { url: 'https://nowhere.invalid/hook' });
  expect((await call('POST', '/webhook-endpoint/test')).status).toBe(202);
  /** The ping, once it is a dead letter, and its last attempt, which is another one than `before`. */
  const deadAfter = (before?: string, query = '') =>
    until(async () => {
      const [event] = EventList.parse((await call('GET', `/events${query}`)).body).events;
      if (event?.state !== 'dead') return false;
      const { delivery } = LastDelivery.parse((await call('GET', `/events/${event.event_id}/delivery`)).body);
      return delivery?.started_at !== before && { letter: event, delivery };
    });
  const { letter, delivery: first } = await deadAfter();
  expect(letter).toMatchObject({ attempts: 1, last_result: 'the host name is unknown' });
  expect((await call('POST', `/events/${letter.event_id}/replay`)).status).toBe(202);
  const { letter: again, delivery } = await deadAfter(first?.started_at, '?undelivered=true');
  expect(again.event_id).toBe(letter.event_id);
  expect(delivery).toMatchObject({
    request: { url: 'https://nowhere.invalid/hook', body: expect.stringContaining(letter.event_id) },
    response: null,
    failure: 'the host name is unknown',
  });
});

test('an event that waits is listed as dropped after its endpoint was removed', async () => {
  const patient = await startServer({ webhookPingDelay: 0, webhookRetryDelays: [3_600] });
  const itsAdmin = await adminOf(patient);
  const browsers = browsersOn(
    () => patient,
    () => itsAdmin,
  );
  await patient.call('PUT', '/v1/webhook-endpoint', { url: 'https://nowhere.invalid/hook' });
  await patient.call('POST', '/v1/webhook-endpoint/test');
  const browser = await browsers.signIn({ api_key: patient.apiKey });
  expect((await browser.call('DELETE', '/webhook-endpoint')).status).toBe(204);
  const { events } = EventList.parse((await browser.call('GET', '/events')).body);
  expect(events.map(({ state }) => state)).toEqual(['dropped']);
  expect((await browser.call('GET', '/events?undelivered=true')).body).toMatchObject({ events: [] });
});

describe('the operator', () => {
  test('can act for any account by naming it', async () => {
    const { accountId, create } = await newCaller();
    const jobId = await create();
    const { call } = await newOperator();
    const named = { 'x-gen3d-account': accountId };
    expect((await call('GET', `/jobs/${jobId}`, undefined, named)).status).toBe(200);
    expect((await call('GET', '/jobs')).status).toBe(400);
    expect((await call('GET', '/jobs', undefined, { 'x-gen3d-account': 'unknown' })).status).toBe(404);
  });

  test('creates accounts and gives credit', async () => {
    const { call } = await newOperator();
    const { body } = await call('POST', '/operator/accounts', { name: 'ann', balance_usd: 2 });
    const { account_id } = body as { account_id: string };
    expect((await call('POST', `/operator/accounts/${account_id}/credit`, { usd: 3.5 })).body).toEqual({
      account_id,
      balance_usd: 5.5,
    });
    const { accounts } = OperatorAccountList.parse((await call('GET', '/operator/accounts?search=ann')).body);
    expect(accounts).toContainEqual(
      expect.objectContaining({ account_id, name: 'ann', balance_usd: 5.5, open_jobs: 0 }),
    );
    expect(codeOf(await call('POST', `/operator/accounts/${account_id}/credit`, { usd: 1e-7 }))).toBe(
      'invalid_request',
    );
    expect((await call('POST', '/operator/accounts/unknown/credit', { usd: 1 })).status).toBe(404);
    const creditOnce = (usd: number) =>
      call('POST', `/operator/accounts/${account_id}/credit`, { usd, idempotency_key: 'opening 1' });
    const doubleClick = await Promise.all([creditOnce(1), creditOnce(1)]);
    for (const { body } of doubleClick) expect(body).toEqual({ account_id, balance_usd: 6.5 });
    expect((await creditOnce(2)).status).toBe(409);
    expect((await call('POST', `/operator/accounts/${account_id}/credit`, { usd: 'much' })).status).toBe(400);
    expect((await call('POST', '/operator/accounts', { name: ' ' })).status).toBe(400);
    expect((await call('POST', '/operator/accounts', { name: 'ann' })).status).toBe(409);
    // Models cost nothing here: without an amount, the account can create jobs.
    expect((await call('POST', '/operator/accounts', { name: 'dora' })).body).toMatchObject({ balance_usd: 10 });
  });

  test('finds accounts by a part of their name or their id, in pages, and a session has at most 100', async () => {
    const names = Array.from({ length: 120 }, (_, index) => `100%-Shop ${String(index).padStart(3, '0')}`);
    const created: string[] = [];
    for (const name of names) created.push((await admin().createAccount(name)).account_id);
    const { call, signedIn } = await newOperator();
    const find = async (query: Record<string, string>) =>
      OperatorAccountList.parse((await call('GET', `/operator/accounts?${new URLSearchParams(query)}`)).body);
    const found: string[] = [];
    for (let cursor: string | undefined, more = true; more; ) {
      const page = await find({ search: '100%-sHOP', ...(cursor && { cursor }) });
      expect(page.accounts.length).toBeLessThanOrEqual(50);
      found.push(...page.accounts.map(({ account_id }) => account_id));
      cursor = page.next_cursor;
      more = cursor !== undefined;
    }
    expect(found).toEqual(created);
    expect((await find({ search: '100_-shop' })).accounts).toEqual([]);
    const last = created.at(-1) ?? '';
    expect((await find({ search: last })).accounts).toMatchObject([{ account_id: last, name: names.at(-1) }]);

    const ids = (body: unknown) =>
      (body as { accounts: { account_id: string }[] }).accounts.map((one) => one.account_id);
    expect(ids(signedIn.body)).toHaveLength(100);
    const chosen = ids((await call('GET', `/session?account=${last}`)).body);
    expect(chosen).toHaveLength(101);
    expect(chosen).toContain(last);
    const member = await signIn({ api_key: (await newCaller()).apiKey });
    expect(ids((await member.call('GET', `/session?account=${last}`)).body)).not.toContain(last);
  });

  test('logs each of its actions once, with its address, and none of members', { tags: 'slow' }, async () => {
    const lines: string[] = [];
    const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(line) });
    const logged = await startServer({}, { log });
    const itsAdmin = await adminOf(logged);
    const browsers = browsersOn(
      () => logged,
      () => itsAdmin,
    );
    const { call } = await browsers.newOperator();
    const at = { 'x-forwarded-for': '192.0.2.7' };
    const { body } = await call('POST', '/operator/accounts', { name: 'ben', balance_usd: 2 }, at);
    const { account_id: accountId } = body as { account_id: string };
    const named = { 'x-gen3d-account': accountId, ...at };
    const credit = { usd: 3.5, idempotency_key: 'opening' };
    for (let i = 0; i < 2; i++) await call('POST', `/operator/accounts/${accountId}/credit`, credit, at);
    await call('POST', '/operator/accounts/unknown/credit', { usd: 1 }, at);
    const key = CreatedKey.parse((await call('POST', '/keys', { name: 'shop' }, named)).body);
    await (await browsers.signIn({ api_key: key.api_key })).call('POST', '/keys', { name: 'own' }, at);
    await call('DELETE', `/keys/${key.key_id}`, undefined, named);

    const actions = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'operator action');
    const from = expect.stringMatching(/^192\.0\.2\.7 through .*127\.0\.0\.1$/);
    expect(actions.map(({ level, msg, ...action }) => action)).toEqual([
      { action: 'account create', accountId, usd: 2, from },
      { action: 'account credit', accountId, usd: 3.5, from },
      { action: 'key create', accountId, keyId: key.key_id, from },
      { action: 'key revoke', accountId, keyId: key.key_id, from },
    ]);
    for (const text of [key.api_key, 'ben', 'shop']) expect(lines.join()).not.toContain(text);
  });

  test('sees the state of the server, the runners of all machines and their jobs', async () => {
    const { create } = await newCaller();
    const id = await create();
    await create();
    const described = { version: '0.0.9', instance: 'g6e', bundle: 'gen3d-base', device: 'cuda' };
    const runner = { pid: 1, paused_since: null, ...described };
    const db = database();
    await announce(db, { id: 'a', host: 'gpu-1', adapter: 'NVIDIA L40S', ...runner }, 3_600_000, currentTime(db));
    await announce(db, { id: 'b', host: 'gone', adapter: null, ...runner }, 0, currentTime(db));
    await db.updateTable('jobs').set({ runner: 'a', status: 'IN_PROGRESS' }).where('id', '=', id).execute();
    const { body } = await (await newOperator()).call('GET', '/operator/overview');
    expect(body).toMatchObject({ version, jobs: { PENDING: expect.any(Number) } });
    const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(Overview.parse(body).runners).toEqual([
      {
        ...{ runner_id: 'a', host: 'gpu-1', ...described, adapter: 'NVIDIA L40S' },
        ...{ task_id: id, started_at: iso, heartbeat_at: iso },
      },
    ]);
  });

  test('cannot set a webhook for the sandbox or create keys for it', async () => {
    const { call } = await newOperator();
    const { accounts } = OperatorAccountList.parse((await call('GET', '/operator/accounts?search=sandbox')).body);
    const named = { 'x-gen3d-account': accounts.find(({ sandbox }) => sandbox)?.account_id ?? '' };
    expect((await call('PUT', '/webhook-endpoint', { url: 'https://example.com' }, named)).status).toBe(403);
    expect((await call('POST', '/keys', undefined, named)).status).toBe(403);
  });
});
