import { CreateJobResponse, ListJobsResponse } from '@gen3d/schema';
import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { KeyRing } from '../src/base/server-key.js';
import { edges } from '../src/composition.js';
import { loadConfig } from '../src/config.js';
import { ApiKeys } from '../src/data/accounts/api-keys.js';
import { DashboardTokens } from '../src/data/accounts/dashboard-tokens.js';
import { publishRates } from '../src/data/accounts/rates.js';
import { migrations } from '../src/data/db/migrations.js';
import { dataDirOf } from '../src/data/installation/data-dir.js';
import { Endpoints, SecretBox } from '../src/data/webhooks/endpoints.js';
import { openAdmin } from '../src/index.js';
import { adminOf, createJob, databaseOf, imageJob, newInstallation, onPostgres, startServer, until } from './kit.js';
import { openDatabase } from './open-database.js';

const newAdmin = async () => adminOf({ config: loadConfig({ ...(await newInstallation()) }, {}) });

const nobody = '01ARZ3NDEKTSV4RRFFQ69G5FAV';

test('a credit with an idempotency key is given once per account', async () => {
  const admin = await newAdmin();
  const ann = await admin.createAccount('ann', 0);
  await admin.createAccount('bob', 0);
  const repeats = Array.from({ length: 5 }, () => admin.creditAccount('ann', 3, 'payment 7'));
  for (const each of await Promise.all(repeats)) expect(each).toEqual({ ...ann, balance_usd: 3 });
  await expect(admin.creditAccount('ann', 4, 'payment 7')).rejects.toThrow('has credited 3 USD');
  expect(await admin.creditAccount('ann', 3, 'payment 8')).toMatchObject({ balance_usd: 6 });
  expect(await admin.creditAccount('bob', 3, 'payment 7')).toMatchObject({ balance_usd: 3 });
  for (let i = 1; i <= 2; i++) expect(await admin.creditAccount('bob', 1)).toMatchObject({ balance_usd: 3 + i });
});

test('accounts are created, listed and credited to the millionth of a dollar', async () => {
  const admin = await newAdmin();
  const empty = await admin.createAccount('empty', 0);
  const rich = await admin.createAccount('rich\u001B]0;pwned\u0007', 0.1);
  expect(rich.name).toBe('rich ]0;pwned');
  expect(empty).toEqual({ account_id: expect.stringMatching(/^[0-9A-Z]{26}$/), name: 'empty', balance_usd: 0 });
  expect(await admin.creditAccount(rich.account_id, 0.2)).toMatchObject({ balance_usd: 0.3 });
  expect(await admin.creditAccount(rich.account_id, -0.3)).toMatchObject({ balance_usd: 0 });
  expect(await admin.listAccounts()).toEqual([empty, { ...rich, balance_usd: 0 }]);
});

test('without a balance, a new account can create jobs where they cost nothing, and has nothing elsewhere', async () => {
  const installation = await newInstallation();
  const open = (rates?: object) =>
    adminOf({ config: loadConfig({}, {}, { ...installation, ...(rates && { rates, instance: 'g6e' }) }) });
  const free = await open();
  expect([await free.isFree(), await free.createAccount('ann')]).toMatchObject([true, { balance_usd: 10 }]);
  expect(await free.createAccount('bob', 0)).toMatchObject({ balance_usd: 0 });
  const paid = await open({ g6e: 0.002 });
  expect([await paid.isFree(), await paid.createAccount('eve')]).toMatchObject([false, { balance_usd: 0 }]);
  // Those of the server that started last apply to a command without rates.
  const db = openDatabase(dataDirOf(installation).database);
  await publishRates(db, { g6e: 0.002 });
  await db.destroy();
  expect(await free.isFree()).toBe(false);
});

test('a key is shown only when it is created', async () => {
  const admin = await newAdmin();
  const { account_id } = await admin.createAccount('one');
  const { account_id: other } = await admin.createAccount('other');
  const key = await admin.createKey(account_id, 'web shop');
  await admin.createKey(other);
  expect(key.api_key).toMatch(/^gen3d_[\w-]{32,}$/);
  await admin.revokeKey(key.key_id);
  expect(await admin.listKeys()).toHaveLength(2);
  expect(await admin.listKeys(account_id)).toEqual([
    {
      key_id: key.key_id,
      account_id,
      name: 'web shop',
      created_at: expect.any(String),
      last_used_at: null,
      revoked_at: expect.any(String),
    },
  ]);
});

test('an account may be given by its name, and an id by a prefix, if they are unique', async () => {
  const admin = await newAdmin();
  const one = await admin.createAccount('one', 0);
  const key = await admin.createKey('one', 'shop');
  expect(key).toMatchObject({ account_id: one.account_id });
  expect(await admin.creditAccount(one.account_id.toLowerCase(), 1)).toMatchObject({ balance_usd: 1 });
  const two = await admin.createAccount('two');
  const lines = [one, two].map(({ account_id, name }) => `  ${account_id}  ${name}`);
  await expect(admin.listKeys('0')).rejects.toThrow(['0 matches several accounts. Use an id:', ...lines].join('\n'));
  expect(await admin.revokeKey(key.key_id.slice(0, 20))).toBe(key.key_id);
});

test('accounts have different names: a second one is refused, also when renaming', async () => {
  const admin = await newAdmin();
  const all = await Promise.allSettled(Array.from({ length: 5 }, () => admin.createAccount('shop', 2)));
  expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const [shop] = await admin.listAccounts();
  const refusal = `The account ${shop?.account_id} has the name "shop". Choose another name`;
  await expect(admin.createAccount(' shop ')).rejects.toMatchObject({ name: 'AdminError', message: refusal });
  const other = await admin.createAccount('other', 3);
  await expect(admin.renameAccount('other', 'shop')).rejects.toMatchObject({ name: 'AdminError', message: refusal });
  expect(await admin.renameAccount('other', 'another')).toEqual({ ...other, name: 'another' });
  await expect(admin.createKey('other')).rejects.toThrow('No account has the id other');
  expect(await admin.createKey('another')).toMatchObject({ account_id: other.account_id });
  await expect(admin.renameAccount('another', '\u0007')).rejects.toThrow('The name must not be empty');
  await expect(admin.renameAccount(nobody, 'new')).rejects.toMatchObject({ name: 'AdminError' });
  // A deleted account gives its name back.
  await admin.deleteAccount('shop');
  expect(await admin.renameAccount('another', 'shop')).toMatchObject({ name: 'shop' });
});

test('an unknown id or an invalid amount is refused with an explanation', async () => {
  const admin = await newAdmin();
  const { account_id } = await admin.createAccount('one');
  const attempts = [
    admin.creditAccount(nobody, 1),
    admin.creditAccount(account_id, Number.NaN),
    admin.creditAccount(account_id, 1e-7),
    admin.createKey(nobody),
    admin.listKeys(nobody),
    admin.revokeKey(nobody),
    admin.cancelJob(nobody),
    admin.replayDeadLetters({ eventId: nobody }),
  ];
  await Promise.all(attempts.map((attempt) => expect(attempt).rejects.toMatchObject({ name: 'AdminError' })));
  expect(await admin.replayDeadLetters({ since: new Date(0) })).toBe(0);
  expect(await admin.listDeadLetters()).toEqual([]);
});

test('a waiting job can be canceled while the server runs', async () => {
  const server = await startServer();
  const created = await server.call('POST', '/v1/jobs', imageJob('https://example.com/a.jpg'));
  const { job_id } = CreateJobResponse.parse(created.body);
  const admin = await adminOf(server);
  await admin.cancelJob(job_id);
  await expect(admin.cancelJob(job_id)).rejects.toMatchObject({ name: 'AdminError' });
  const { headers, body } = await server.call('GET', `/v1/jobs/${job_id}`);
  expect(body).toMatchObject({ status: 'CANCELED', finished_at: expect.any(String), error: null });
  expect(headers.get('retry-after')).toBeNull();
});

test('servers refuse nothing while the server key is rotated, and nothing that matters stays under an old key', async () => {
  const installation = await newInstallation();
  const first = await startServer({ ...installation });
  // On PostgreSQL, the second server learns from the database of what the first one has done.
  const second = onPostgres ? await startServer({ ...installation }) : first;
  const admin = await adminOf(first);
  const [account] = await admin.listAccounts();
  const accountId = account!.account_id;
  const { secret } = (await first.call('PUT', '/v1/webhook-endpoint', { url: 'https://example.com/hook' })).body as {
    secret: string;
  };
  for (let i = 0; i < 3; i++) await createJob(first.call, imageJob('https://example.com/a.jpg'));
  const { next_cursor } = ListJobsResponse.parse((await first.call('GET', '/v1/jobs?limit=2')).body);
  const db = databaseOf(installation);
  const config = first.config;
  const keys = edges.serverKeys(db, dataDirOf(config).serverKey, config.serverKey).read;
  const session = await new DashboardTokens(db, new KeyRing(await keys())).issueSession(null);
  const [leaked] = await keys();

  let rotating = true;
  const refused: unknown[] = [];
  let requests = 0;
  const load = async ({ call, url }: typeof first) => {
    while (rotating) {
      const responses = await Promise.all([
        call('GET', '/v1/balance', undefined, first.apiKey),
        call('GET', `/v1/jobs?limit=2&cursor=${next_cursor}`, undefined, first.apiKey),
        call('GET', '/v1/webhook-endpoint', undefined, first.apiKey),
      ]);
      const page = await fetch(`${url}/dashboard/api/session`, {
        headers: { cookie: `gen3d_session_${new URL(url).port}=${session}` },
      });
      requests += 4;
      for (const { status, body } of responses) if (status !== 200) refused.push([status, body]);
      if (page.status !== 200) refused.push(await page.text());
    }
  };
  const loads = [first, second, first, second].map(load);
  for (let i = 0; i < 3; i++) {
    await admin.rotateServerKey();
    const created = await admin.createKey(accountId);
    for (const { call } of [first, second]) {
      expect((await call('GET', '/v1/balance', undefined, created.api_key)).status).toBe(200);
    }
    const reached = requests + 40;
    await until(async () => requests > reached);
  }
  rotating = false;
  await Promise.all(loads);
  expect(refused).toEqual([]);

  const known = await keys();
  expect(known).toHaveLength(4);
  expect(known.at(-1)).toEqual(leaked);
  const onlyCurrent = new KeyRing(known.slice(0, 1));
  expect(await new ApiKeys(onlyCurrent).find(db, first.apiKey)).toMatchObject({ account_id: accountId });
  expect(await new Endpoints(db, new SecretBox(onlyCurrent)).find(accountId)).toMatchObject({ secret });
});

test('rotations at the same time all count', async () => {
  const { config } = await startServer();
  const admin = await adminOf({ config });
  await Promise.all([1, 2, 3].map(() => admin.rotateServerKey()));
  const db = databaseOf({ config });
  expect(await edges.serverKeys(db, dataDirOf(config).serverKey, undefined).read()).toHaveLength(4);
});

test('a command of a newer version does not migrate the database of a running server', async () => {
  const server = await startServer();
  migrations['9999_newer'] = ['alter table accounts add column color text'];
  onTestFinished(() => void delete migrations['9999_newer']);
  await expect(openAdmin(server.config)).rejects.toThrow(/was written by an older gen3d\. Use that version, or update/);
  const db = databaseOf(server);
  const colors = () => sql`select color from accounts`.execute(db);
  await expect(colors()).rejects.toThrow(/color/);
  expect((await server.call('GET', '/v1/balance')).status).toBe(200);

  await server.close();
  await (await startServer(server.config)).close();
  expect((await colors()).rows).not.toEqual([]);
  await (await openAdmin(server.config)).close();
});
