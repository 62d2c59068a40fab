import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import {
  expressWebhookHandler,
  signWebhook,
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookEvent,
  webhookHandler,
} from '../src/index.js';
import { jobId } from './server.js';

const secret = 'whsec_0123456789abcdef';
const event: WebhookEvent = {
  event: 'task.updated',
  event_id: '01J9ZC3W8Q4V5N6M7P8R9S0T2B',
  user_id: 'acc_1',
  task_id: jobId,
  type: 'image-to-3d',
  status: 'IN_PROGRESS',
  progress: 30,
  timestamp: '2026-01-02T03:04:05.000Z',
};
const payload = JSON.stringify(event);

/** A valid delivery. Each test breaks one part of it. */
async function delivery(change: Partial<VerifyWebhookOptions> = {}): Promise<VerifyWebhookOptions> {
  return { payload, headers: await signWebhook({ payload, secret }), secret, ...change };
}

describe('verifyWebhook', () => {
  test('returns the event of a valid delivery', async () => {
    expect(await verifyWebhook(await delivery())).toEqual(event);
  });

  test('expects the HMAC of the contract as the signature', async () => {
    const headers = await signWebhook({ payload, secret, timestamp: new Date(0) });
    const hex = createHmac('sha256', secret).update(`1970-01-01T00:00:00.000Z.${payload}`).digest('hex');
    expect(headers).toEqual({
      'x-generate-timestamp': '1970-01-01T00:00:00.000Z',
      'x-generate-signature': `sha256=${hex}`,
    });
  });

  test('accepts bytes, an ArrayBuffer and Headers', async () => {
    const bytes = new TextEncoder().encode(payload);
    const { headers } = await delivery();
    expect(
      await verifyWebhook({ payload: bytes, headers: new Headers(headers as Record<string, string>), secret }),
    ).toEqual(event);
    expect(await verifyWebhook({ payload: bytes.buffer, headers, secret })).toEqual(event);
  });

  test('accepts header names in upper case and header values in lists', async () => {
    const { headers } = await delivery();
    const upperCase = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]));
    expect(await verifyWebhook(await delivery({ headers: upperCase }))).toEqual(event);
  });

  test('accepts any secret of a list', async () => {
    expect(await verifyWebhook(await delivery({ secret: ['whsec_new', secret] }))).toEqual(event);
  });

  test.each([
    ['a line break at its end, as in a file', (text: string) => `${text}\n`],
    ['the line end of Windows', (text: string) => `${text}\r\n`],
    ['a space before it, as in "NEW, OLD".split(",")', (text: string) => ` ${text}`],
    ['a byte order mark', (text: string) => `\ufeff${text}`],
    ['a no-break space', (text: string) => `${text}\u00a0`],
    ['double quotes, as docker --env-file keeps them', (text: string) => `"${text}"`],
    ['single quotes', (text: string) => `'${text}' `],
    ['quotes with a line break', (text: string) => `"${text}\n"`],
  ])('accepts a secret with %s', async (_, around) => {
    expect(await verifyWebhook(await delivery({ secret: around(secret) }))).toEqual(event);
    expect(await verifyWebhook(await delivery({ secret: ['whsec_new', around(secret)] }))).toEqual(event);
    const { headers } = await delivery();
    const handler = webhookHandler({ secret: around(secret), onEvent: () => {} });
    const request = new Request('http://app/', {
      method: 'POST',
      body: payload,
      headers: headers as Record<string, string>,
    });
    expect((await handler(request)).status).toBe(204);
  });

  test('accepts headers in a Map and in a list of pairs', async () => {
    const entries = Object.entries((await delivery()).headers as Record<string, string>);
    for (const headers of [new Map(entries), entries, new Headers(entries).entries()]) {
      expect(await verifyWebhook(await delivery({ headers }))).toEqual(event);
    }
    await expect(verifyWebhook(await delivery({ headers: [] }))).rejects.toThrow(/x-generate-timestamp is missing/);
  });

  test.each([undefined, null, 'x-generate-signature: sha256=00'])(
    'says that the headers are missing: %j',
    async (none) => {
      const headers = none as unknown as Record<string, string>;
      await expect(verifyWebhook(await delivery({ headers }))).rejects.toThrow(
        'The headers are missing. Pass those of the request',
      );
    },
  );

  test('accepts bytes of another realm, as in jsdom', async () => {
    const bytes = runInNewContext('new Uint8Array(bytes)', { bytes: [...Buffer.from(payload)] }) as Uint8Array;
    expect(await verifyWebhook(await delivery({ payload: bytes }))).toEqual(event);
    expect(await verifyWebhook(await delivery({ payload: bytes.buffer as ArrayBuffer }))).toEqual(event);
  });

  const needsRawBody = /needs the raw body as text or bytes, before a parser reads it, .* base64\. .*express\.raw/;

  test.each([
    ['was parsed and serialized again', JSON.stringify(JSON.parse(payload), null, 1)],
    ['was parsed and converted to text', String(JSON.parse(payload))],
    ['is base64', Buffer.from(payload).toString('base64')],
  ])('rejects a body that %s', async (_, changed) => {
    const verified = verifyWebhook(await delivery({ payload: changed }));
    await expect(verified).rejects.toMatchObject({
      code: 'webhook_unverified',
      message: expect.stringMatching(needsRawBody),
    });
  });

  test.each([
    ['parsed', JSON.parse(payload)],
    ['missing', undefined],
    ['a Blob', new Blob([payload])],
    ['a stream', new Blob([payload]).stream()],
  ])('throws a TypeError for a body that is %s', async (_, body) => {
    const rejection = expect(verifyWebhook({ ...(await delivery()), payload: body })).rejects;
    await rejection.toThrow(TypeError);
    await rejection.toThrow(needsRawBody);
  });

  test.each<[string, Partial<VerifyWebhookOptions>, RegExp]>([
    ['another secret', { secret: 'whsec_other' }, /does not match/],
    ['no headers', { headers: {} }, /x-generate-timestamp is missing/],
    [
      'a malformed signature',
      { headers: { 'x-generate-timestamp': 'now', 'x-generate-signature': 'v1=abc' } },
      /does not match/,
    ],
    ['a delivery from ten minutes ago', { now: Date.now() + 600_000 }, /more than 300 s/],
    ['a delivery from the future', { now: Date.now() - 600_000 }, /more than 300 s/],
  ])('rejects %s', async (_, change, message) => {
    await expect(verifyWebhook(await delivery(change))).rejects.toMatchObject({
      name: 'WebhookVerificationError',
      code: 'webhook_unverified',
      message: expect.stringMatching(message),
    });
  });

  test('rejects a changed timestamp', async () => {
    const { headers } = await delivery();
    const later = { ...headers, 'x-generate-timestamp': new Date(Date.now() + 1000).toISOString() };
    await expect(verifyWebhook(await delivery({ headers: later }))).rejects.toThrow(/does not match/);
  });

  test('accepts an old delivery with toleranceSeconds Infinity', async () => {
    const old = await delivery({ now: Date.now() + 1e9, toleranceSeconds: Number.POSITIVE_INFINITY });
    expect(await verifyWebhook(old)).toEqual(event);
  });

  // An unset environment variable in JavaScript.
  const unset = undefined as unknown as string;
  const bytes = Buffer.from(secret) as unknown as string;
  test.each(['', [], unset, [secret, unset], bytes])('throws a TypeError for a missing secret (%j)', async (none) => {
    const rejection = expect(verifyWebhook({ ...(await delivery()), secret: none })).rejects;
    await rejection.toThrow(TypeError);
    await rejection.toThrow(/secret is missing, empty or not text.*environment variable/);
  });

  test('rejects a signed body that is not an event', async () => {
    const unknown = '{"event":"from.the.future"}';
    const headers = await signWebhook({ payload: unknown, secret });
    await expect(verifyWebhook({ payload: unknown, headers, secret })).rejects.toThrow(/not an event/);
  });
});

describe.each([
  ['webhookHandler', webhookHandler],
  ['expressWebhookHandler', expressWebhookHandler],
])('%s', (_, create) => {
  test.each([
    ['an empty secret', ''],
    ['an unset environment variable', undefined as unknown as string],
    ['a list with an empty secret', [secret, '']],
  ])('throws when it is created with %s', (_, none) => {
    expect(() => create({ secret: none, onEvent: () => {} })).toThrow(
      /secret is missing, empty or not text.*environment variable/,
    );
  });

  test('throws when it is created without onEvent', () => {
    const options = { secret } as unknown as Parameters<typeof create>[0];
    expect(() => create(options)).toThrow(
      new TypeError('onEvent is missing. Pass a function, which is called with every verified event'),
    );
  });
});

describe('webhookHandler', () => {
  const post = async (body: string, key = secret) =>
    new Request('https://me.test/hook', { method: 'POST', body, headers: await signWebhook({ payload, secret: key }) });

  test('responds 204 after onEvent', async () => {
    const seen: WebhookEvent[] = [];
    const handle = webhookHandler({ secret, onEvent: (arrived) => void seen.push(arrived) });
    expect((await handle(await post(payload))).status).toBe(204);
    expect(seen).toEqual([event]);
  });

  test('responds 400 to a forged delivery, without calling onEvent', async () => {
    const handle = webhookHandler({ secret, onEvent: () => expect.unreachable() });
    expect((await handle(await post(payload, 'whsec_forged'))).status).toBe(400);
  });

  test('responds 400 to a body that is too large for an event, without reading all of it', async () => {
    const handle = webhookHandler({ secret, onEvent: () => expect.unreachable() });
    let sentBytes = 0;
    const endless = new ReadableStream({
      pull(controller) {
        sentBytes += 100_000;
        controller.enqueue(new Uint8Array(100_000));
      },
    });
    const options = { method: 'POST', body: endless, headers: await signWebhook({ payload, secret }), duplex: 'half' };
    const response = await handle(new Request('https://me.test/hook', options));
    expect([response.status, await response.text()]).toEqual([400, 'The body is too large for an event']);
    expect(sentBytes).toBeLessThan(2e6);
  });

  test('throws if the app has already read the body', async () => {
    const handle = webhookHandler({ secret, onEvent: () => expect.unreachable() });
    const request = await post(payload);
    await request.json();
    await expect(handle(request)).rejects.toThrow(/needs the raw body/);
  });

  test('rethrows the error of onEvent, which causes a 500 and a retry', async () => {
    const handle = webhookHandler({ secret, onEvent: () => Promise.reject(new Error('my database is down')) });
    await expect(handle(await post(payload))).rejects.toThrow('my database is down');
  });
});

describe('expressWebhookHandler', () => {
  async function statusOf(body: string, parse?: (text: string) => unknown, key = secret) {
    const errors: unknown[] = [];
    const handle = expressWebhookHandler({ secret, onEvent: () => {} });
    const server = createServer(async (request, response) => {
      if (parse) {
        let text = '';
        for await (const chunk of request) text += chunk;
        Object.assign(request, { body: parse(text) });
      }
      await handle(request, response, (error) => {
        errors.push(error);
        response.writeHead(500).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, resolve));
    const { port } = server.address() as AddressInfo;
    const headers = await signWebhook({ payload, secret: key });
    const { status } = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body, headers });
    await new Promise((resolve) => server.close(resolve));
    return { status, errors };
  }

  test('reads the body', async () => {
    expect(await statusOf(payload)).toEqual({ status: 204, errors: [] });
  });

  test('uses the bytes from express.raw', async () => {
    expect(await statusOf(payload, (text) => Buffer.from(text))).toEqual({ status: 204, errors: [] });
  });

  test('uses the text from express.text, and rejects a forged one', async () => {
    expect(await statusOf(payload, (text) => text)).toEqual({ status: 204, errors: [] });
    expect(await statusOf(payload, (text) => text, 'whsec_forged')).toEqual({ status: 400, errors: [] });
  });

  test('uses the rawBody of a platform that parses the body', async () => {
    let handled = 0;
    const handle = expressWebhookHandler({ secret, onEvent: () => void handled++ });
    const response = { statusCode: 0, end: () => {} };
    const headers = await signWebhook({ payload, secret });
    const request = {
      headers,
      body: JSON.parse(payload),
      rawBody: Buffer.from(payload),
      async *[Symbol.asyncIterator]() {},
    };
    await handle(request, response, () => expect.unreachable());
    expect([response.statusCode, handled]).toEqual([204, 1]);
  });

  test('passes an error to the app if a JSON parser consumed the body', async () => {
    const { status, errors } = await statusOf(payload, JSON.parse);
    expect(status).toBe(500);
    expect(String(errors[0])).toMatch(/express\.raw/);
  });
});
