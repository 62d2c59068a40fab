import { expect, onTestFinished, test } from 'vitest';
import { hashPassword, verifyPassword } from '../src/data/accounts/operator-password.js';
import { openDataDir } from '../src/data/installation/data-dir.js';
import { openAdmin } from '../src/index.js';
import { browsersOn, codeOf, tokenOf } from './dashboard-kit.js';
import { startServer } from './kit.js';
import { openDatabase } from './open-database.js';

const password = 'correct horse battery';

/** Attempts are counted per client and server, so each test has its own server. */
async function setUp() {
  const server = await startServer();
  const admin = await openAdmin(server.config);
  onTestFinished(() => admin.close());
  const browsers = browsersOn(
    () => server,
    () => admin,
  );
  const operator = await browsers.newOperator();
  return { server, admin, operator, ...browsers };
}

test('the operator signs in with a link, sets a password, signs in with it, and signs out', async () => {
  const { operator, send, signIn } = await setUp();
  expect((await send('GET', '/session', undefined, {})).body).toEqual({ role: null, operator_password: false });
  expect(codeOf((await signIn({ password })).signedIn)).toBe('sign_in_failed');
  expect((await operator.call('PUT', '/operator-password', { password })).status).toBe(204);
  expect((await send('GET', '/session', undefined, {})).body).toEqual({ role: null, operator_password: true });
  const again = await signIn({ password });
  expect(again.signedIn).toMatchObject({ status: 200, body: { role: 'operator', operator_password: true } });
  expect(again.setCookie).toMatch(/HttpOnly; SameSite=Strict/);
  expect((await again.call('GET', '/operator/overview')).status).toBe(200);
  expect((await again.call('DELETE', '/session')).status).toBe(204);
  expect((await again.call('GET', '/operator/overview')).status).toBe(401);
});

test('a wrong or empty password is refused', async () => {
  const { operator, signIn } = await setUp();
  await operator.call('PUT', '/operator-password', { password });
  for (const wrong of ['', `${password} `, password.toUpperCase(), password.slice(1)]) {
    const { signedIn, cookie } = await signIn({ password: wrong });
    expect(codeOf(signedIn)).toBe('sign_in_failed');
    expect(cookie).toBeUndefined();
  }
});

test('a new password ends all other operator sessions and unused links, but not the sessions of members', async () => {
  const { server, admin, operator, signIn, newOperator } = await setUp();
  const other = await newOperator();
  const member = await signIn({ api_key: server.apiKey });
  const link = tokenOf(await admin.signInLink());
  await operator.call('PUT', '/operator-password', { password });
  expect((await operator.call('GET', '/operator/overview')).status).toBe(200);
  expect((await other.call('GET', '/operator/overview')).status).toBe(401);
  expect((await member.call('GET', '/balance')).status).toBe(200);
  expect((await signIn({ link })).signedIn.status).toBe(403);
});

test('a removed or changed password stops working', async () => {
  const { operator, signIn } = await setUp();
  await operator.call('PUT', '/operator-password', { password });
  await operator.call('PUT', '/operator-password', { password: `${password} staple` });
  expect((await signIn({ password })).signedIn.status).toBe(403);
  expect((await signIn({ password: `${password} staple` })).signedIn.status).toBe(200);
  // A session that began with the password may change it, too.
  const { call } = await signIn({ password: `${password} staple` });
  expect((await call('DELETE', '/operator-password')).status).toBe(204);
  expect((await signIn({ password: `${password} staple` })).signedIn.status).toBe(403);
});

test('a password of fewer than 12 or more than 200 characters is refused, as is any other value, and the old one stays', async () => {
  const { operator, signIn } = await setUp();
  await operator.call('PUT', '/operator-password', { password });
  for (const refused of ['x'.repeat(11), 'x'.repeat(201), 123_456_789_012, undefined]) {
    const response = await operator.call('PUT', '/operator-password', { password: refused });
    expect(codeOf(response)).toBe('invalid_request');
    expect(JSON.stringify(response.body)).toContain('password');
  }
  expect((await signIn({ password })).signedIn.status).toBe(200);
});

test('after five wrong guesses a client has to wait, but a link still works', async () => {
  const { operator, signIn, newOperator } = await setUp();
  await operator.call('PUT', '/operator-password', { password });
  const guesses = await Promise.all(Array.from({ length: 8 }, (_, index) => signIn({ password: `guess ${index}` })));
  const statuses = guesses.map(({ signedIn }) => signedIn.status).sort();
  expect(statuses).toEqual([403, 403, 403, 403, 403, 429, 429, 429]);
  // The correct password has to wait, too: otherwise the response would reveal it.
  const late = await signIn({ password });
  expect(codeOf(late.signedIn)).toBe('too_many_tries');
  expect(Number(late.signedIn.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await newOperator()).signedIn.status).toBe(200);
});

test('another client’s guesses do not lock the operator out, even behind a proxy', async () => {
  const { operator, signIn } = await setUp();
  await operator.call('PUT', '/operator-password', { password });
  const from = (client: string, guess: string) =>
    signIn({ password: guess }, { 'x-forwarded-for': `10.0.0.1, ${client}` });
  const guesses = await Promise.all(Array.from({ length: 8 }, () => from('8.8.8.8', 'guess')));
  expect(guesses.filter(({ signedIn }) => signedIn.status === 429)).toHaveLength(3);
  expect((await from('1.1.1.1', password)).signedIn.status).toBe(200);
});

test('guesses from many addresses, real or forged, lock out new clients only where they come from', async () => {
  const { operator, signIn } = await setUp();
  await operator.call('PUT', '/operator-password', { password });
  const guesses = Array.from({ length: 60 }, (_, i) =>
    signIn({ password: 'guess' }, { 'x-forwarded-for': `8.8.8.${i}` }),
  );
  const statuses = (await Promise.all(guesses)).map(({ signedIn }) => signedIn.status);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(20);
  expect((await signIn({ password })).signedIn.status).toBe(200);
});

test('the database stores a salted hash of the password', async () => {
  const { server, operator } = await setUp();
  await operator.call('PUT', '/operator-password', { password });
  const db = openDatabase(openDataDir(server.config).database);
  onTestFinished(() => db.destroy());
  const rows = await db.selectFrom('operator_password').selectAll().execute();
  expect(rows).toEqual([{ id: 1, hash: expect.stringMatching(/^\$scrypt\$ln=15,r=8,p=3\$[\w+/]{22}\$[\w+/]{43}$/) }]);
  expect(await hashPassword(password)).not.toBe(rows[0]?.hash);
});

test('a password matches however the keyboard composes its letters', async () => {
  const stored = await hashPassword('Zu\u0308rich am See');
  expect(await verifyPassword('Z\u00fcrich am See', stored)).toBe(true);
  expect(await verifyPassword('Zurich am See', stored)).toBe(false);
});
