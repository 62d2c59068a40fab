import { expect, onTestFinished, test } from 'vitest';
import { openAdmin } from '../src/admin.js';
import { hashPassword, verifyPassword } from '../src/data/accounts/operator-password.js';
import { openDatabase } from '../src/data/db/open.js';
import { openDataDir } from '../src/data/installation/data-dir.js';
import { browsersOn, codeOf, tokenOf } from './dashboard-kit.js';
import { startServer } from './kit.js';

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

test('the operator sets a password after the first link, signs in by it, and out', async () => {
  const { operator, ask, signIn } = await setUp();
  expect((await ask('GET', '/session', undefined, {})).body).toEqual({ role: null, operator_password: false });
  expect(codeOf((await signIn({ password })).signedIn)).toBe('sign_in_failed');
  expect((await operator.call('PUT', '/operator-password', { password })).status).toBe(204);
  expect((await ask('GET', '/session', undefined, {})).body).toEqual({ role: null, operator_password: true });
  const again = await signIn({ password });
  expect(again.signedIn).toMatchObject({ status: 200, body: { role: 'operator', operator_password: true } });
  expect(again.setCookie).toMatch(/HttpOnly; SameSite=Strict/);
  expect((await again.call('GET', '/operator/overview')).status).toBe(200);
  expect((await again.call('DELETE', '/session')).status).toBe(204);
  expect((await again.call('GET', '/operator/overview')).status).toBe(401);
});

test('another password, or none, lets nobody in', async () => {
  const { operator, signIn } = await setUp();
  await operator.call('PUT', '/operator-password', { password });
  for (const wrong of ['', `${password} `, password.toUpperCase(), password.slice(1)]) {
    const { signedIn, cookie } = await signIn({ password: wrong });
    expect(codeOf(signedIn)).toBe('sign_in_failed');
    expect(cookie).toBeUndefined();
  }
});

test('a new password ends every other operator’s session and unused link, and no member’s', async () => {
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

test('a password that was removed or changed no longer lets in', async () => {
  const { operator, signIn } = await setUp();
  await operator.call('PUT', '/operator-password', { password });
  await operator.call('PUT', '/operator-password', { password: `${password} staple` });
  expect((await signIn({ password })).signedIn.status).toBe(403);
  expect((await signIn({ password: `${password} staple` })).signedIn.status).toBe(200);
  // Whoever signs in by password may change it as well.
  const { call } = await signIn({ password: `${password} staple` });
  expect((await call('DELETE', '/operator-password')).status).toBe(204);
  expect((await signIn({ password: `${password} staple` })).signedIn.status).toBe(403);
});

test.each([
  ['of 11 characters', 'x'.repeat(11)],
  ['of 201 characters', 'x'.repeat(201)],
  ['that is no text', 123_456_789_012],
  ['that is missing', undefined],
])('a password %s is refused in words, and the one before stays', async (_, refused) => {
  const { operator, signIn } = await setUp();
  await operator.call('PUT', '/operator-password', { password });
  const answer = await operator.call('PUT', '/operator-password', { password: refused });
  expect(codeOf(answer)).toBe('invalid_request');
  expect(JSON.stringify(answer.body)).toContain('password');
  expect((await signIn({ password })).signedIn.status).toBe(200);
});

test('who guesses is let try five times, then told to wait, while a link still signs in', async () => {
  const { operator, signIn, newOperator } = await setUp();
  await operator.call('PUT', '/operator-password', { password });
  const guesses = await Promise.all(Array.from({ length: 8 }, (_, index) => signIn({ password: `guess ${index}` })));
  const statuses = guesses.map(({ signedIn }) => signedIn.status).sort();
  expect(statuses).toEqual([403, 403, 403, 403, 403, 429, 429, 429]);
  // The right one as well, or waiting would tell which one that is.
  const late = await signIn({ password });
  expect(codeOf(late.signedIn)).toBe('too_many_tries');
  expect(Number(late.signedIn.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await newOperator()).signedIn.status).toBe(200);
});

test('a stranger who guesses does not lock the operator out, behind a proxy either', async () => {
  const { operator, signIn } = await setUp();
  await operator.call('PUT', '/operator-password', { password });
  const from = (client: string, guess: string) =>
    signIn({ password: guess }, { 'x-forwarded-for': `10.0.0.1, ${client}` });
  const guesses = await Promise.all(Array.from({ length: 8 }, () => from('8.8.8.8', 'guess')));
  expect(guesses.filter(({ signedIn }) => signedIn.status === 429)).toHaveLength(3);
  expect((await from('1.1.1.1', password)).signedIn.status).toBe(200);
});

test('the database holds a password in a form that tells nothing of it', async () => {
  const { server, operator } = await setUp();
  await operator.call('PUT', '/operator-password', { password });
  const db = openDatabase(openDataDir(server.config).database);
  onTestFinished(() => db.destroy());
  const rows = await db.selectFrom('operator_password').selectAll().execute();
  expect(rows).toEqual([{ id: 1, hash: expect.stringMatching(/^\$scrypt\$ln=15,r=8,p=3\$[\w+/]{22}\$[\w+/]{43}$/) }]);
  expect(await hashPassword(password)).not.toBe(rows[0]?.hash);
});

test('a password is the same however a keyboard composes its letters, and nothing else is', async () => {
  const stored = await hashPassword('Zu\u0308rich am See');
  expect(await verifyPassword('Z\u00fcrich am See', stored)).toBe(true);
  expect(await verifyPassword('Zurich am See', stored)).toBe(false);
});
