import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Task, TaskUpdatedEvent } from '@gen3d/schema';
import { expect, onTestFinished, test } from 'vitest';
import { Gen3d, NotFoundError } from '../src/index.js';
import { jobId, succeeded, task } from './server.js';

const progress = ['00', '10', '20', '30'].map(
  (number, index): TaskUpdatedEvent => ({
    event: 'task.updated',
    event_id: `01J9ZC3W8Q4V5N6M7P8R9S0T${number}`,
    user_id: 'account',
    timestamp: '2026-01-02T03:04:05.000Z',
    task_id: jobId,
    type: 'image-to-3d',
    status: index === 3 ? 'SUCCEEDED' : 'IN_PROGRESS',
    progress: 25 * (index + 1),
  }),
);

const message = (event: TaskUpdatedEvent) => `id: ${event.event_id}\ndata: ${JSON.stringify(event)}\n\n`;

/** Starts a server whose job is unfinished until `finish()`. `streams` responds to requests for its events. */
async function serverWith(streams: (response: ServerResponse, lastEventId: string | undefined) => void) {
  let state: Task = task();
  let reads = 0;
  let opened = 0;
  const listener: RequestListener = (request, response) => {
    if (request.url?.endsWith('/events')) {
      opened += 1;
      return streams(response, request.headers['last-event-id'] as string | undefined);
    }
    reads += 1;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(state));
  };
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    gen3d: new Gen3d({ apiKey: 'gen3d_key', baseUrl }),
    finish: () => {
      state = succeeded;
    },
    reads: () => reads,
    opened: () => opened,
  };
}

const opening = { 'content-type': 'text/event-stream' };
const notFound = (response: ServerResponse) =>
  response
    .writeHead(404, { 'content-type': 'application/json' })
    .end(JSON.stringify({ error: { code: 'not_found', message: 'No such route' } }));

test('a stream that is cut after every event yields each of them once, in order', async () => {
  const { gen3d, opened } = await serverWith((response, last) => {
    const next = progress.find(({ event_id }) => last === undefined || event_id > last)!;
    // In pieces, as a network may deliver them.
    response.writeHead(200, opening).write(`: connected\n\n${message(next).slice(0, 30)}`);
    setTimeout(() => {
      response.write(message(next).slice(30));
      response.socket?.end();
    }, 20);
  });
  const received: TaskUpdatedEvent[] = [];
  for await (const event of gen3d.events({ jobId })) received.push(event);
  expect(received).toEqual(progress);
  expect(opened()).toBe(4);
});

test.each([
  ['no JSON', 'hello'],
  ['JSON of another kind', '{"status":"SUCCEEDED"}'],
])('an event that is %s is refused, because the server would send it again', async (_, data) => {
  const { gen3d, opened } = await serverWith((response) => {
    response.writeHead(200, opening).write(`id: 1\ndata: ${data}\n\n`);
  });
  await expect(gen3d.events({ jobId }).next()).rejects.toMatchObject({
    code: 'invalid_response',
    message: expect.stringContaining('something other than a gen3d event'),
  });
  expect(opened()).toBe(1);
});

test('a connection that breaks is not reported as an unreachable server', async () => {
  const errors: Error[] = [];
  const { gen3d } = await serverWith((response, last) => {
    if (last !== undefined) return response.writeHead(204).end();
    response.writeHead(200, opening).write(message(progress[0]!), () => response.socket?.destroy());
  });
  for await (const _ of gen3d.events({ jobId, onRetry: (error) => errors.push(error) }));
  expect(errors).toMatchObject([
    { name: 'ConnectionError', message: expect.stringMatching(/broke during its response/) },
  ]);
});

test('a stream continues after `lastEventId`, and ends when the server has no more events', async () => {
  const asked: unknown[] = [];
  const { gen3d } = await serverWith((response, last) => {
    asked.push(last);
    response.writeHead(204).end();
  });
  const last = progress[3]!.event_id;
  expect(await gen3d.events({ jobId, lastEventId: last }).next()).toEqual({ done: true, value: undefined });
  expect(asked).toEqual([last]);
});

test('a server without streams is an error for `events`', async () => {
  const { gen3d } = await serverWith(notFound);
  await expect(gen3d.events().next()).rejects.toBeInstanceOf(NotFoundError);
});

test('wait returns as soon as the stream reports the end', async () => {
  const { gen3d, finish, reads } = await serverWith((response) => {
    response.writeHead(200, opening).write(': connected\n\n');
    setTimeout(() => {
      finish();
      response.end(message(progress[3]!));
    }, 300);
  });
  expect(await gen3d.jobs.wait(jobId)).toEqual(succeeded);
  // At the beginning, and at the end. A poll would come after a second at the earliest.
  expect(reads()).toBe(2);
});

test('wait pauses between its polls although the stream has reported the end too early', async () => {
  const { gen3d, finish, reads } = await serverWith((response) => {
    response.writeHead(200, opening).end(message(progress[3]!));
  });
  setTimeout(finish, 300);
  expect(await gen3d.jobs.wait(jobId)).toEqual(succeeded);
  // At the beginning, after the stream's end, and after a pause of a second.
  expect(reads()).toBe(3);
});

test('wait polls a server without streams, which it asks once', async () => {
  const { gen3d, finish, opened } = await serverWith(notFound);
  setTimeout(finish, 300);
  expect(await gen3d.jobs.wait(jobId)).toEqual(succeeded);
  expect(await gen3d.jobs.wait(jobId)).toEqual(succeeded);
  expect(opened()).toBe(1);
});

test('wait polls as often as without a stream while a proxy holds that back', async () => {
  const { gen3d, finish, reads } = await serverWith(() => {});
  setTimeout(finish, 300);
  expect(await gen3d.jobs.wait(jobId)).toEqual(succeeded);
  expect(reads()).toBe(2);
});

test('at most two waits of a client read streams', async () => {
  const { gen3d, finish, opened } = await serverWith((response) => {
    response.writeHead(200, opening).write(': connected\n\n');
  });
  const waits = Promise.all([1, 2, 3, 4].map(() => gen3d.jobs.wait(jobId)));
  while (opened() < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  finish();
  await waits;
  expect(opened()).toBe(2);
});
