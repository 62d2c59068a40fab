import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TaskUpdatedEvent } from '@gen3d/schema';
import { expect, onTestFinished, test } from 'vitest';
import { Gen3d, NotFoundError } from '../src/index.js';
import { jobId } from './server.js';

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

/** Starts a server. `streams` responds to its requests. */
async function serverWith(streams: (response: ServerResponse, lastEventId: string | undefined) => void) {
  let opened = 0;
  const server = createServer((request, response) => {
    opened += 1;
    streams(response, request.headers['last-event-id'] as string | undefined);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { gen3d: new Gen3d({ apiKey: 'gen3d_key', baseUrl }), opened: () => opened };
}

const opening = { 'content-type': 'text/event-stream' };

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
  const { gen3d } = await serverWith((response) => response.writeHead(404).end());
  await expect(gen3d.events().next()).rejects.toBeInstanceOf(NotFoundError);
});
