import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { TaskUpdatedEvent } from '@gen3d/schema';
import { expect, onTestFinished, test } from 'vitest';
import { revokeKey } from '../src/data/accounts/api-keys.js';
import { quotas } from '../src/data/accounts/quotas.js';
import { currentTime } from '../src/data/db/time.js';
import { eventIdAt } from '../src/data/webhooks/events.js';
import { EventFeed } from '../src/web/answers/event-feed.js';
import { adminOf, createJob, databaseOf, imageJob, onPostgres, startServer, type TestServer, until } from './kit.js';

const photoJob = imageJob('https://example.com/photo.jpg');

interface Reading {
  status: number;
  headers: Headers;
  /** The raw text so far. */
  text(): string;
  events(): TaskUpdatedEvent[];
  /** Resolves when the server ends the stream. */
  ended: Promise<void>;
  close(): void;
}

async function read(
  { url, apiKey }: TestServer,
  path: string,
  { lastEventId, key = apiKey }: { lastEventId?: string | undefined; key?: string } = {},
): Promise<Reading> {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const response = await fetch(url + path, {
    headers: {
      authorization: `Bearer ${key}`,
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
    signal: controller.signal,
  });
  let text = '';
  const readAll = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk as Uint8Array, { stream: true });
  };
  return {
    status: response.status,
    headers: response.headers,
    text: () => text,
    events: () =>
      [...text.matchAll(/^id: (.*)\ndata: (.*)\n\n/gm)].map(([, id, data]) => {
        const event = TaskUpdatedEvent.parse(JSON.parse(data ?? ''));
        expect(event.event_id).toBe(id);
        return event;
      }),
    ended: readAll().catch(() => {}),
    close: () => controller.abort(),
  };
}

test.each(['/gen3d/events', '/gen3d/jobs/{JOB}/events'])('HEAD %s ends after the headers', async (path) => {
  const server = await startServer();
  const id = await createJob(server.call, photoJob);
  const socket = connect(server.port, '127.0.0.1');
  const lines = [`HEAD ${path.replace('{JOB}', id)} HTTP/1.1`, 'Host: 127.0.0.1', 'Connection: close'];
  socket.write(`${[...lines, `Authorization: Bearer ${server.apiKey}`].join('\r\n')}\r\n\r\n`);
  let text = '';
  // Without an end, the test times out.
  for await (const part of socket.setEncoding('utf8')) text += part;
  expect(text).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  expect(text).toContain('content-type: text/event-stream');
  expect(text.endsWith('\r\n\r\n')).toBe(true);
});

const cancel = (server: TestServer, id: string) => server.call('POST', `/gen3d/jobs/${id}/cancel`);

test('the stream of a job has all its events, and ends after the last one', async () => {
  const server = await startServer();
  const id = await createJob(server.call, photoJob);
  const stream = await read(server, `/gen3d/jobs/${id}/events`);
  expect(stream.headers.get('content-type')).toBe('text/event-stream');
  await until(async () => stream.events().length > 0);
  expect(stream.text()).toContain(': connected\n\n');
  await cancel(server, id);
  await stream.ended;
  expect(stream.events()).toMatchObject([
    { event: 'task.updated', task_id: id, type: 'image-to-3d', status: 'PENDING', progress: 0 },
    { task_id: id, status: 'CANCELED', progress: 0 },
  ]);

  const [first, last] = stream.events();
  const rest = await read(server, `/gen3d/jobs/${id}/events`, { lastEventId: first?.event_id });
  await rest.ended;
  expect(rest.events()).toEqual([last]);
  expect((await read(server, `/gen3d/jobs/${id}/events`, { lastEventId: last?.event_id })).status).toBe(204);
});

test('a webhook and a stream report the same events', async () => {
  const server = await startServer();
  await server.call('PUT', '/v1/webhook-endpoint', { url: 'https://example.com/hook' });
  const id = await createJob(server.call, photoJob);
  await cancel(server, id);
  const stream = await read(server, `/gen3d/jobs/${id}/events`);
  await stream.ended;
  const waiting = await databaseOf(server).selectFrom('deliveries').select('event_id').orderBy('event_id').execute();
  expect(stream.events().map(({ event_id }) => event_id)).toEqual(waiting.map(({ event_id }) => event_id));
});

test('the stream of an account begins with the next event, and has no events of other accounts', async () => {
  const server = await startServer();
  const admin = await adminOf(server);
  const other = await admin.createKey((await admin.createAccount('other', 10)).account_id);
  await createJob(server.call, photoJob);
  const stream = await read(server, '/gen3d/events');
  await until(async () => stream.text() !== '');
  await createJob((method, path, body) => server.call(method, path, body, other.api_key), photoJob);
  const ids = [await createJob(server.call, photoJob), await createJob(server.call, photoJob)];
  await until(async () => stream.events().length === 2);
  expect(stream.events().map(({ task_id }) => task_id)).toEqual(ids);

  // Another connection continues where this one was closed.
  stream.close();
  await cancel(server, ids[0] ?? '');
  const next = await read(server, '/gen3d/events', { lastEventId: stream.events()[1]?.event_id });
  await until(async () => next.events().length > 0);
  expect(next.events()).toMatchObject([{ task_id: ids[0], status: 'CANCELED' }]);
});

test('a finished job whose events are gone has one event, with its state', async () => {
  const server = await startServer();
  const { body } = await server.call('POST', '/v1/jobs', photoJob, 'gen3d_test_public');
  const { job_id: id } = body as { job_id: string };
  const key = 'gen3d_test_public';
  const stream = await read(server, `/gen3d/jobs/${id}/events`, { key });
  await stream.ended;
  expect(stream.events()).toMatchObject([{ event_id: id, task_id: id, status: 'SUCCEEDED', progress: 100 }]);
  expect((await read(server, `/gen3d/jobs/${id}/events`, { key, lastEventId: id })).status).toBe(204);
});

test('streams of unknown jobs and invalid ids of events are refused', async () => {
  const server = await startServer();
  const unknown = await server.call('GET', '/gen3d/jobs/01J9ZC3W8Q4V5N6M7P8R9S0T1A/events');
  expect([unknown.status, unknown.body]).toMatchObject([404, { error: { code: 'not_found' } }]);
  const invalid = await read(server, '/gen3d/events', { lastEventId: 'yesterday' });
  expect(invalid.status).toBe(400);
  await invalid.ended;
  expect(invalid.text()).toContain('Last-Event-ID: must be a ULID');
  expect((await server.call('GET', '/gen3d/events', undefined, 'gen3d_test_public')).status).toBe(403);
  expect((await server.call('POST', '/gen3d/events')).status).toBe(405);
});

test('an account reads a limited number of streams, and closing one makes room', async () => {
  const server = await startServer();
  const streams = await Promise.all(Array.from({ length: quotas.streams }, () => read(server, '/gen3d/events')));
  expect(streams.map(({ status }) => status)).toEqual(Array(quotas.streams).fill(200));
  const refused = await server.call('GET', '/gen3d/events');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
  streams[0]?.close();
  const another = await until(async () => {
    const stream = await read(server, '/gen3d/events');
    return stream.status === 200 && stream;
  });
  another.close();
});

/** Resolves to whether the server ends a stream within seconds. */
const endsSoon = ({ ended }: Reading) => Promise.race([ended.then(() => true), pause(8_000, false)]);

test('the revocation of a key ends its streams, and not those of other keys of the account', async () => {
  const server = await startServer();
  const admin = await adminOf(server);
  const [first] = await admin.listKeys();
  const second = await admin.createKey(first?.account_id ?? '');
  const kept = await read(server, '/gen3d/events');
  const stream = await read(server, '/gen3d/events', { key: second.api_key });
  const id = await createJob(server.call, photoJob);
  await until(async () => stream.events().some(({ task_id }) => task_id === id));
  await admin.revokeKey(second.key_id);
  expect(await endsSoon(stream)).toBe(true);
  expect((await read(server, '/gen3d/events', { key: second.api_key })).status).toBe(403);
  const later = await createJob(server.call, photoJob);
  await until(async () => kept.events().some(({ task_id }) => task_id === later));
});

test('a stream that is opened while its key is revoked ends, whichever comes first', async () => {
  const server = await startServer();
  const admin = await adminOf(server);
  const db = databaseOf(server);
  const [first] = await admin.listKeys();
  for (let index = 0; index < 10; index++) {
    const key = await admin.createKey(first?.account_id ?? '');
    // On SQLite, an open transaction would block the server. On PostgreSQL, the stream is open before the commit.
    const revoked = db.transaction().execute(async (trx) => {
      await revokeKey(trx, key.key_id, currentTime(trx));
      if (onPostgres) await pause(13 * index);
    });
    const stream = await read(server, '/gen3d/events', { key: key.api_key });
    await revoked;
    if (stream.status === 200) expect(await endsSoon(stream)).toBe(true);
    else expect(stream.status).toBe(403);
  }
});

test('while 16 streams read thousands of old events each, other requests are answered', { tags: 'slow' }, async () => {
  const server = await startServer();
  const db = databaseOf(server);
  const job_id = await createJob(server.call, photoJob);
  const { event_id: _, ...event } = await db.selectFrom('events').selectAll().executeTakeFirstOrThrow();
  const [batches, batchSize] = [20, 100];
  for (let batch = 0; batch < batches; batch++) {
    const ids = Array.from({ length: batchSize }, (_, index) => eventIdAt(Date.now() - 20_000 + index));
    const rows = ids.map((event_id) => ({ ...event, job_id, event_id }));
    await db.insertInto('events').values(rows).execute();
  }
  const lastEventId = '0'.repeat(26);
  const streams = await Promise.all(
    Array.from({ length: quotas.streams }, () => read(server, '/gen3d/events', { lastEventId })),
  );
  const eventsOf = (stream: Reading) => stream.text().split('\nid: ').length;
  let answers = 0;
  while (streams.every((stream) => eventsOf(stream) < batches * batchSize)) {
    expect((await server.call('GET', '/healthz')).status).toBe(200);
    answers += 1;
  }
  // Without turns, there would be one at most.
  expect(answers).toBeGreaterThan(batches / 2);
});

test('a server that stops ends its streams', async () => {
  const server = await startServer();
  const stream = await read(server, '/gen3d/events');
  await server.close({ graceMs: 0 });
  await stream.ended;
});

test('closing a subscription twice does not affect a newer one of the account', () => {
  const feed = new EventFeed({ readStates: async () => [], findValidKeys: async () => new Set() });
  const first = feed.subscribe({ accountId: 'account' });
  first.close();
  const second = feed.subscribe({ accountId: 'account' });
  // As when a stream ends, and then its connection closes.
  first.close();
  feed.stop();
  expect(second.isEnded).toBe(true);
});

test('HTTP/1.0 clients, such as some proxies, get a stream too', async () => {
  const server = await startServer();
  const id = await createJob(server.call, photoJob);
  const socket = connect(server.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let text = '';
  socket.on('data', (chunk) => {
    text += String(chunk);
  });
  socket.write(`GET /gen3d/jobs/${id}/events HTTP/1.0\r\nauthorization: Bearer ${server.apiKey}\r\n\r\n`);
  await until(async () => text.includes('"PENDING"'));
});
