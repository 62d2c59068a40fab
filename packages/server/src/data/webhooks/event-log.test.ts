import type { ServerResponse } from 'node:http';
import { signatureHeader, timestampHeader } from '@gen3d/schema';
import { expect, test } from 'vitest';
import { newAccount, site, temporaryDatabase, until, withEndpoint } from '../../../test/kit.js';
import { dayMs } from '../../base/time.js';
import { newDelivery } from '../../work/webhooks/delivery.fixture.js';
import { eventBody, sign } from '../../work/webhooks/post-event.js';
import { quotas } from '../accounts/quotas.js';
import { findDelivery, lastAttempt } from './event-log.js';
import { deleteOldEvents, limitEvents } from './event-retention.js';
import { recordPing } from './events.js';

/** Sends a ping to a receiver with this response. Returns its delivery after `count` attempts. */
async function logOfPing(receiver: string | ((response: ServerResponse) => unknown), count = 1) {
  const retryDelays = Array.from({ length: count - 1 }, () => 0);
  const { db, endpoints, delivery, account } = await newDelivery({ retryDelays });
  const url = typeof receiver === 'string' ? receiver : await site((_request, response) => void receiver(response));
  const secret = (await endpoints.put(account, url, 0)).secret ?? '';
  await recordPing(db, account, 0, Date.now());
  await delivery.start();
  const { event_id } = await until(async () => {
    const row = await db.selectFrom('deliveries').selectAll().executeTakeFirst();
    return row?.attempts === count && row;
  });
  const row = (await findDelivery(db, account, event_id))!;
  return { row, last: lastAttempt(row, 'the body')!, url, secret };
}

test('an attempt is logged with its headers and the start of the response, but without the secret', async () => {
  let received = '';
  const { row, last, url, secret } = await logOfPing(async (response) => {
    for await (const chunk of response.req) received += String(chunk);
    response.writeHead(201).end('thank you');
  });
  expect(row).toMatchObject({ event: 'ping', state: 'delivered', attempts: 1 });
  const { headers } = last.request;
  expect(last).toMatchObject({ request: { url }, response: { status: 201, body: 'thank you' }, failure: null });
  expect(headers[signatureHeader]).toBe(sign(secret, headers[timestampHeader] ?? '', Buffer.from(received)));
  expect(eventBody(row, 'https://cdn.example.com')).toBe(received);
  expect(JSON.stringify(row)).not.toContain(secret);
});

test('the last of several attempts at an event is logged', async () => {
  let count = 0;
  const { last } = await logOfPing((response) => {
    count += 1;
    if (count === 1) response.writeHead(503).end('busy');
    else response.destroy();
  }, 2);
  const failure = 'the connection was closed before a response arrived';
  expect(last).toMatchObject({ response: null, failure });
});

test('an endpoint that refuses connections is reported as such', async () => {
  const { last } = await logOfPing('http://127.0.0.1:9/hook');
  expect(last).toMatchObject({ response: null, failure: 'connection refused: no server is listening there' });
});

test('a response that does not end is logged as far as it arrived, and the delivery succeeds', async () => {
  const { last } = await logOfPing((response) => response.writeHead(200).write('so far'));
  expect(last).toMatchObject({ response: { status: 200, body: 'so far…' }, failure: null });
});

test('the first 2 KiB of a long response in any encoding are logged as text', async () => {
  const { last } = await logOfPing((response) => response.end(`\0${'ü'.repeat(1_000_000)}`));
  // One byte of the last letter exceeds the limit.
  expect(last.response?.body).toBe(`\uFFFD${'ü'.repeat(1_023)}…`);
});

test('the log keeps the newest deliveries of an account, and dead letters, for 14 days, and their events', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  await withEndpoint(db, account);
  await db.transaction().execute(async (trx) => {
    for (let pings = 0; pings < quotas.deliveries + 3; pings++) await recordPing(trx, account, 0, 0);
  });
  await db.updateTable('deliveries').set({ state: 'delivered', ended_at: Date.now() }).execute();
  const idsIn = (table: 'events' | 'deliveries') =>
    db.selectFrom(table).select('event_id').orderBy('event_id').execute();
  const events = await idsIn('events');
  await limitEvents(db, Date.now());
  expect(await idsIn('deliveries')).toEqual(events.slice(3));
  expect(await idsIn('events')).toEqual(events);
  const newest = db.selectFrom('deliveries').select((eb) => eb.fn.max('event_id').as('id'));
  await db.updateTable('deliveries').set({ state: 'dead' }).where('event_id', '=', newest).execute();
  await deleteOldEvents(db, Date.now() + 13 * dayMs);
  expect(await idsIn('events')).toEqual(events.slice(3));
  await deleteOldEvents(db, Date.now() + 15 * dayMs);
  expect([...(await idsIn('events')), ...(await idsIn('deliveries'))]).toEqual([]);
});
