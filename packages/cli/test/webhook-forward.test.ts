// @module-tag slow
import { writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { expressWebhookHandler, type WebhookEvent } from '@gen3d/sdk';
import { beforeAll, expect, test } from 'vitest';
import { discPng, outputMatching, site, testFolder } from './run.js';

const { begin, gen3d, path, serve } = testFolder();

beforeAll(async () => {
  await writeFile(path('cup.png'), discPng());
  // Without a runner, a job ends when it is canceled.
  await serve('--workers', '0');
});

const receiver = async (listener: RequestListener) => `${(await site(listener)).url}/hook`;

/** Starts `webhook listen --forward-to`. Resolves with the printed secret. */
async function listen(url: string, ...args: string[]) {
  const { child, stop } = begin(['webhook', 'listen', '--forward-to', url, ...args]);
  const [, secret = ''] = /Signing secret: (\S+)/.exec(await outputMatching(child, /Signing secret: .*\n/)) ?? [];
  return { child, stop, secret };
}

const createAndCancel = async () => {
  const job = (await gen3d(['create', 'cup.png'])).stdout.trim();
  await gen3d(['admin', 'job', 'cancel', job]);
  return job;
};

test('a receiver on this machine gets signed events without an endpoint', async () => {
  const received: WebhookEvent[] = [];
  let handle: RequestListener = () => {};
  const url = await receiver((request, response) => handle(request, response));
  const { child, stop, secret } = await listen(url);
  expect(secret).toMatch(/^whsec_[\w-]{40}$/);
  const onEvent = (event: WebhookEvent) => {
    received.push(event);
    if (received.length === 1) throw new Error('my database is down');
  };
  const verify = expressWebhookHandler({ secret, onEvent });
  handle = (request, response) =>
    void verify(request, response, (error) => response.writeHead(500).end((error as Error).message));
  const canceled = outputMatching(child, /CANCELED \d+ % +✔ 204 in \d+ ms/);
  const job = await createAndCancel();
  await canceled;
  const { code, stdout, stderr } = await stop();
  expect(code).toBe(0);
  expect(stdout).toMatch(/PENDING 0 % +✖ 500 in \d+ ms: my database is down\n/);
  expect(stderr).toMatch(new RegExp(`Forwarding events to ${url} \\(Ctrl-C to stop\\)`));
  expect(new Set(received.map((event) => event.event === 'task.updated' && event.task_id))).toEqual(new Set([job]));
  expect(new Set(received.map(({ event_id }) => event_id)).size).toBe(received.length);
});

test('with GEN3D_WEBHOOK_SECRET=NEW,OLD, events are signed with the new secret', async () => {
  const verify = expressWebhookHandler({ secret: 'whsec_new', onEvent: () => {} });
  const url = await receiver(
    (request, response) => void verify(request, response, () => response.writeHead(500).end()),
  );
  const { child, stop } = begin(['webhook', 'listen', '--forward-to', url], {
    GEN3D_WEBHOOK_SECRET: 'whsec_new,whsec_old',
  });
  await outputMatching(child, /Signing secret: whsec_new\n/);
  const accepted = outputMatching(child, /CANCELED \d+ % +✔ 204/);
  await createAndCancel();
  await accepted;
  expect((await stop()).code).toBe(0);
});

test('an event that the receiver does not accept is posted once, and printed with the reason', async () => {
  const received: string[] = [];
  const url = await receiver(async (request) => {
    const { event_id, status }: WebhookEvent & { status?: string } = JSON.parse(await text(request));
    received.push(event_id);
    if (status === 'CANCELED') request.socket.destroy();
    else request.socket.end('HTTP/1.1 500 Error\r\nContent-Length: 4\r\n\r\nfull');
  });
  const { port } = new URL(url);
  const { child, stop } = await listen(`127.0.0.1:${port}/hook`, '--json', '--secret', 'whsec_mine');
  const failed = outputMatching(child, /CANCELED \d+ % +✖ (other side closed|socket hang up|.*ECONNRESET)/);
  await createAndCancel();
  await failed;
  const { code, stdout, stderr } = await stop();
  expect(code).toBe(0);
  expect(stderr).toMatch(/PENDING 0 % +✖ 500 in \d+ ms: full\n/);
  const printed = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(printed.map(({ event_id }) => event_id)).toEqual(received);
  expect(printed.at(-1)).toMatchObject({ status: 'CANCELED' });
  expect(new Set(received).size).toBe(received.length);
});

test('the secret stays the same the next time', async () => {
  const url = await receiver((_, response) => response.end());
  const secrets = [];
  for (let i = 0; i < 2; i += 1) {
    const { stop, secret } = await listen(url);
    await stop();
    secrets.push(secret);
  }
  expect(secrets[0]).toBe(secrets[1]);
});

test('without an endpoint, plain listen names --forward-to', async () => {
  const { code, stderr } = await gen3d(['webhook', 'listen']);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/--forward-to http:\/\/127\.0\.0\.1/) });
});

test('--forward-to rejects --port and URLs of other schemes', async () => {
  expect((await gen3d(['webhook', 'listen', '--forward-to', 'http://a/', '--port', '1'])).code).toBe(2);
  for (const url of ['http://:80', 'ftp://127.0.0.1/hook', 'nonsense', '']) {
    const { code, stderr } = await gen3d(['webhook', 'listen', '--forward-to', url]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/must be an http\(s\) URL such as/) });
  }
});

test('an empty --secret is rejected', async () => {
  const { code, stderr } = await gen3d(['webhook', 'listen', '--forward-to', 'http://127.0.0.1:1/', '--secret', '']);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/Check that its variable is set/) });
});

test('set names --forward-to for a URL of this machine', async () => {
  const { code, stderr } = await gen3d(['webhook', 'set', 'http://127.0.0.1:9000/hook']);
  const remedy = 'use `gen3d webhook listen --forward-to http://127.0.0.1:9000/hook`';
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(remedy) });
});
