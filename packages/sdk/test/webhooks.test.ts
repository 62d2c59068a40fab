import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
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

/** A delivery that verifies; each test breaks one thing. */
async function delivery(change: Partial<VerifyWebhookOptions> = {}): Promise<VerifyWebhookOptions> {
  return { payload, headers: await signWebhook({ payload, secret }), secret, ...change };
}

describe('verifyWebhook', () => {
  test('a valid delivery gives its event', async () => {
    expect(await verifyWebhook(await delivery())).toEqual(event);
  });

  test('the signature is the HMAC of the contract', async () => {
    const headers = await signWebhook({ payload, secret, timestamp: new Date(0) });
    const hex = createHmac('sha256', secret).update(`1970-01-01T00:00:00.000Z.${payload}`).digest('hex');
    expect(headers).toEqual({
      'x-generate-timestamp': '1970-01-01T00:00:00.000Z',
      'x-generate-signature': `sha256=${hex}`,
    });
  });

  test('bytes, an ArrayBuffer and Headers serve as well as text and an object', async () => {
    const bytes = new TextEncoder().encode(payload);
    const { headers } = await delivery();
    expect(
      await verifyWebhook({ payload: bytes, headers: new Headers(headers as Record<string, string>), secret }),
    ).toEqual(event);
    expect(await verifyWebhook({ payload: bytes.buffer, headers, secret })).toEqual(event);
  });

  test('headers may be written in capitals, or come as lists', async () => {
    const { headers } = await delivery();
    const loud = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]));
    expect(await verifyWebhook(await delivery({ headers: loud }))).toEqual(event);
  });

  test('during a rotation any secret of a list will do', async () => {
    expect(await verifyWebhook(await delivery({ secret: ['whsec_new', secret] }))).toEqual(event);
  });

  test('a body parsed and serialised again does not verify', async () => {
    const spaced = JSON.stringify(JSON.parse(payload), null, 1);
    await expect(verifyWebhook(await delivery({ payload: spaced }))).rejects.toThrow(/before any parser/);
  });

  test('a body that was parsed before verification is told as what it is', async () => {
    const parsed = JSON.parse(payload);
    await expect(verifyWebhook(await delivery({ payload: parsed }))).rejects.toThrow(/was parsed before.*express\.raw/);
    await expect(verifyWebhook(await delivery({ payload: String(parsed) }))).rejects.toThrow(/was parsed before/);
  });

  test.each<[string, Partial<VerifyWebhookOptions>, RegExp]>([
    ['another secret', { secret: 'whsec_other' }, /does not fit/],
    ['no headers', { headers: {} }, /x-generate-timestamp is missing/],
    [
      'a signature of another form',
      { headers: { 'x-generate-timestamp': 'now', 'x-generate-signature': 'v1=abc' } },
      /64 hex/,
    ],
    ['a delivery of ten minutes ago', { now: Date.now() + 600_000 }, /more than 300 s/],
    ['a delivery from the future', { now: Date.now() - 600_000 }, /more than 300 s/],
  ])('%s is refused', async (_, change, message) => {
    await expect(verifyWebhook(await delivery(change))).rejects.toMatchObject({
      name: 'WebhookVerificationError',
      code: 'webhook_unverified',
      message: expect.stringMatching(message),
    });
  });

  test('a timestamp that was changed does not verify', async () => {
    const { headers } = await delivery();
    const later = { ...headers, 'x-generate-timestamp': new Date(Date.now() + 1000).toISOString() };
    await expect(verifyWebhook(await delivery({ headers: later }))).rejects.toThrow(/does not fit/);
  });

  test('toleranceSeconds Infinity takes an old delivery', async () => {
    const old = await delivery({ now: Date.now() + 1e9, toleranceSeconds: Number.POSITIVE_INFINITY });
    expect(await verifyWebhook(old)).toEqual(event);
  });

  // What an unset variable becomes in programs without types.
  const unset = undefined as unknown as string;
  test.each(['', [], unset, [secret, unset]])(
    'no secret (%j) is a mistake of the program, and said so',
    async (none) => {
      const refusal = expect(verifyWebhook({ ...(await delivery()), secret: none })).rejects;
      await refusal.toThrow(TypeError);
      await refusal.toThrow(/secret is missing or empty.*environment variable/);
    },
  );

  test('a signed body that is no event is refused', async () => {
    const odd = '{"event":"from.the.future"}';
    const headers = await signWebhook({ payload: odd, secret });
    await expect(verifyWebhook({ payload: odd, headers, secret })).rejects.toThrow(/no event/);
  });
});

describe('a handler for fetch-style servers', () => {
  const post = async (body: string, key = secret) =>
    new Request('https://me.test/hook', { method: 'POST', body, headers: await signWebhook({ payload, secret: key }) });

  test('answers 204 once the event is dealt with', async () => {
    const seen: WebhookEvent[] = [];
    const handle = webhookHandler({ secret, onEvent: (arrived) => void seen.push(arrived) });
    expect((await handle(await post(payload))).status).toBe(204);
    expect(seen).toEqual([event]);
  });

  test('answers 400 to a forged one, and deals with nothing', async () => {
    const handle = webhookHandler({ secret, onEvent: () => expect.unreachable() });
    expect((await handle(await post(payload, 'whsec_forged'))).status).toBe(400);
  });

  test('says so when the app has read the body before it', async () => {
    const handle = webhookHandler({ secret, onEvent: () => expect.unreachable() });
    const request = await post(payload);
    await request.json();
    await expect(handle(request)).rejects.toThrow(/was read before it was verified/);
  });

  test('throws what the app threw, so that its 500 brings the delivery again', async () => {
    const handle = webhookHandler({ secret, onEvent: () => Promise.reject(new Error('my database is down')) });
    await expect(handle(await post(payload))).rejects.toThrow('my database is down');
  });
});

describe('a handler for Express, on a real socket', () => {
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

  test('reads the body itself where no parser did', async () => {
    expect(await statusOf(payload)).toEqual({ status: 204, errors: [] });
  });

  test('takes the bytes that express.raw left', async () => {
    expect(await statusOf(payload, (text) => Buffer.from(text))).toEqual({ status: 204, errors: [] });
  });

  test('takes the text that express.text left, and refuses it if it is forged', async () => {
    expect(await statusOf(payload, (text) => text)).toEqual({ status: 204, errors: [] });
    expect(await statusOf(payload, (text) => text, 'whsec_forged')).toEqual({ status: 400, errors: [] });
  });

  test('takes the bytes that a platform kept beside the parsed body', async () => {
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

  test('answers 400 to a forged delivery', async () => {
    expect(await statusOf(payload, undefined, 'whsec_forged')).toEqual({ status: 400, errors: [] });
  });

  test('hands the app an error that explains a body eaten by a JSON parser', async () => {
    const { status, errors } = await statusOf(payload, JSON.parse);
    expect(status).toBe(500);
    expect(String(errors[0])).toMatch(/express\.raw/);
  });
});
