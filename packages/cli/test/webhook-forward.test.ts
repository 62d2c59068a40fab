import { writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expressWebhookHandler, type WebhookEvent } from '@gen3d/sdk';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { discPng, outputMatching, result, testFolder } from './run.js';

const { gen3d, path, serve, start } = testFolder();

beforeAll(async () => {
  await writeFile(path('cup.png'), discPng());
  await writeFile(path('config.json'), JSON.stringify({ webhookRetryDelays: [0.1] }));
  // Without a runner, a job ends when it is canceled.
  await serve('--workers', '0', '--config', path('config.json'));
});

async function receiver(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}

/** Starts `webhook listen --forward-to`. Resolves with the printed secret. */
async function listen(url: string, ...args: string[]) {
  const child = start(['webhook', 'listen', '--forward-to', url, ...args]);
  const ended = result(child);
  const [, secret = ''] = /Signing secret: (\S+)/.exec(await outputMatching(child, /Signing secret: .*\n/)) ?? [];
  return { child, ended, secret };
}

const createAndCancel = async () => {
  const job = (await gen3d(['create', 'cup.png'])).stdout.trim();
  await gen3d(['admin', 'job', 'cancel', job]);
  return job;
};

test('a receiver on this machine gets signed events without an endpoint, and a failed one again', async () => {
  const received: WebhookEvent[] = [];
  let handle: RequestListener = () => {};
  const url = await receiver((request, response) => handle(request, response));
  const { child, ended, secret } = await listen(url);
  expect(secret).toMatch(/^whsec_[\w-]{40}$/);
  const onEvent = (event: WebhookEvent) => {
    received.push(event);
    if (received.length === 1) throw new Error('my database is down');
  };
  const verify = expressWebhookHandler({ secret, onEvent });
  handle = (request, response) =>
    void verify(request, response, (error) => response.writeHead(500).end((error as Error).message));
  const canceled = outputMatching(child, /CANCELED \d+ % +✔ 204 in \d+ ms/);
  const retried = outputMatching(child, /PENDING 0 % +✔ 204/);
  const job = await createAndCancel();
  await canceled;
  await retried;
  child.kill('SIGINT');
  const { code, stdout, stderr } = await ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/PENDING 0 % +✖ 500 in \d+ ms: my database is down, retrying in 0\.1 s/);
  expect(stderr).toMatch(new RegExp(`Forwarding events to ${url} \\(Ctrl-C to stop\\)`));
  expect(stderr).not.toMatch(/not delivered/);
  expect(new Set(received.map((event) => event.event === 'task.updated' && event.task_id))).toEqual(new Set([job]));
  const [first] = received;
  expect(received.filter(({ event_id }) => event_id === first?.event_id)).toHaveLength(2);
});

test('after its last retry, an event is dropped and counted at the end', async () => {
  const url = await receiver((request) => void request.socket.destroy());
  const { port } = new URL(url);
  const { child, ended } = await listen(`127.0.0.1:${port}/hook`, '--json', '--secret', 'whsec_mine');
  const givenUp = outputMatching(child, /CANCELED \d+ % .*no retries left/);
  await createAndCancel();
  await givenUp;
  child.kill('SIGINT');
  const { code, stdout, stderr } = await ended;
  expect(code).toBe(0);
  expect(stderr).toMatch(/✖ .*, retrying in 0\.1 s/);
  expect(stderr).toMatch(/\d events? not delivered/);
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).status),
  ).toContain('CANCELED');
});

test('the secret stays the same the next time', async () => {
  const url = await receiver((_, response) => response.end());
  const secrets = [];
  for (let i = 0; i < 2; i += 1) {
    const { child, ended, secret } = await listen(url);
    child.kill('SIGINT');
    await ended;
    secrets.push(secret);
  }
  expect(secrets[0]).toBe(secrets[1]);
});

test('without an endpoint, plain listen names --forward-to', async () => {
  const { code, stderr } = await gen3d(['webhook', 'listen']);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/--forward-to http:\/\/127\.0\.0\.1/) });
});

test('--forward-to rejects --port and invalid URLs', async () => {
  expect((await gen3d(['webhook', 'listen', '--forward-to', 'http://a/', '--port', '1'])).code).toBe(2);
  expect((await gen3d(['webhook', 'listen', '--forward-to', 'http://:80'])).stderr).toMatch(/must be an http\(s\) URL/);
});
