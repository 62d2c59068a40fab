import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { signatureHeader, timestampHeader } from '@gen3d/schema';
import { expect, onTestFinished, test } from 'vitest';
import { newAccount, silent, site, temporaryDatabase, until } from '../../../test/kit.js';
import { guardedAgent } from '../../base/net/guarded-agent.js';
import { KeyRing } from '../../base/server-key.js';
import { dayMs } from '../../base/time.js';
import { Delivery } from '../../work/webhooks/delivery.js';
import { sign } from '../../work/webhooks/post-event.js';
import { quotas } from '../accounts/quotas.js';
import { deleteOldDeliveries, type Exchange, logDelivery } from './delivery-log.js';
import { Endpoints, SecretBox } from './endpoints.js';
import { recordPing } from './outbox.js';

/** Sends a ping to a receiver with this response, and waits until the log has `count` attempts. */
async function logOfPing(receiver: string | ((response: ServerResponse) => void), count = 1) {
  const db = await temporaryDatabase();
  const endpoints = new Endpoints(db, new SecretBox(new KeyRing([randomBytes(32)])));
  const dispatcher = guardedAgent({ allowPrivateNetwork: true, connectTimeoutMs: 10_000 });
  const delivery = new Delivery({
    db,
    endpoints,
    dispatcher,
    assetsUrl: () => 'https://cdn.example.com',
    retryDelays: Array.from({ length: count - 1 }, () => 0),
    pingDelay: 0,
    log: silent,
    onOutcome: () => {},
  });
  onTestFinished(async () => {
    await delivery.stop();
    await dispatcher.destroy();
  });
  const account = await newAccount(db);
  const url = typeof receiver === 'string' ? receiver : await site((_request, response) => receiver(response));
  const secret = (await endpoints.put(account, url, 0)).secret ?? '';
  await recordPing(db, account, 0, Date.now());
  await delivery.start();
  const log = await until(async () => {
    const rows = await db.selectFrom('webhook_deliveries').selectAll().orderBy('id').execute();
    return rows.length === count && rows;
  });
  return { log, url, secret, account };
}

test('an attempt is logged with its headers and the start of the response, but without the secret', async () => {
  const { log, url, secret, account } = await logOfPing((response) => response.writeHead(201).end('thank you'));
  const [{ request_headers, request_body, ...entry }] = log as [(typeof log)[number]];
  expect(entry).toMatchObject({
    account_id: account,
    event: 'ping',
    url,
    response_status: 201,
    response_body: 'thank you',
    failure: null,
  });
  const headers = JSON.parse(request_headers) as Record<string, string>;
  expect(headers[signatureHeader]).toBe(sign(secret, headers[timestampHeader] ?? '', Buffer.from(request_body)));
  expect(JSON.parse(request_body)).toMatchObject({ event: 'ping', event_id: entry.event_id });
  expect(JSON.stringify(log)).not.toContain(secret);
});

test('every attempt at an event is logged with its failure', async () => {
  let count = 0;
  const { log } = await logOfPing((response) => {
    count += 1;
    if (count === 1) response.writeHead(503).end('busy');
    else if (count === 2) response.destroy();
    else response.end();
  }, 3);
  expect(log.map(({ response_status, response_body, failure }) => [response_status, response_body, failure])).toEqual([
    [503, 'busy', 'HTTP 503'],
    [null, null, 'the connection was closed before a response arrived'],
    [200, '', null],
  ]);
});

test('an endpoint that refuses connections is reported as such', async () => {
  const { log } = await logOfPing('http://127.0.0.1:9/hook');
  expect(log[0]).toMatchObject({ response_status: null, failure: 'connection refused: no server is listening there' });
});

test('a response that does not end is logged as far as it arrived, and the delivery succeeds', async () => {
  const { log } = await logOfPing((response) => response.writeHead(200).write('so far'));
  expect(log[0]).toMatchObject({ response_status: 200, response_body: 'so far…', failure: null });
});

test('the first 2 KiB of a long response in any encoding are logged as text', async () => {
  const { log } = await logOfPing((response) => response.end(`\0${'ü'.repeat(1_000_000)}`));
  // One byte of the last letter exceeds the limit.
  expect(log[0]?.response_body).toBe(`\uFFFD${'ü'.repeat(1_023)}…`);
});

const exchange: Exchange = {
  url: 'https://example.com/hook',
  requestHeaders: {},
  requestBody: '{}',
  responseStatus: 200,
  responseBody: '',
  failure: null,
  startedAt: 0,
  tookMs: 1,
};

test('an account’s log keeps a limited number of its latest attempts, for 14 days', async () => {
  const db = await temporaryDatabase();
  const [busy, other] = [await newAccount(db), await newAccount(db)];
  for (const account of [other, busy]) await recordPingOf(account);
  const events = await db.selectFrom('outbox').selectAll().orderBy('seq').execute();
  const [first, second] = events as [(typeof events)[number], (typeof events)[number]];
  await logDelivery(db, first, exchange);
  for (let tookMs = 1; tookMs <= quotas.deliveries + 3; tookMs++)
    await logDelivery(db, second, { ...exchange, tookMs });
  const kept = async (account: string) =>
    (await db.selectFrom('webhook_deliveries').select('took_ms').where('account_id', '=', account).execute()).map(
      ({ took_ms }) => took_ms,
    );
  expect(await kept(other)).toEqual([1]);
  expect((await kept(busy)).sort((a, b) => a - b)).toEqual(
    Array.from({ length: quotas.deliveries }, (_, index) => index + 4),
  );
  const days = (count: number) => Date.now() + count * dayMs;
  await deleteOldDeliveries(db, days(13));
  expect(await kept(other)).toHaveLength(1);
  await deleteOldDeliveries(db, days(15));
  expect([...(await kept(other)), ...(await kept(busy))]).toEqual([]);

  async function recordPingOf(account: string) {
    await new Endpoints(db, new SecretBox(new KeyRing([randomBytes(32)]))).put(account, exchange.url, 0);
    await recordPing(db, account, 0, 0);
  }
});
