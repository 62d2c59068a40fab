import { expect, onTestFinished, test } from 'vitest';
import { site } from '../../../test/kit.js';
import { guardedAgent } from '../../base/net/guarded-agent.js';
import { postEvent } from './post-event.js';

test.each([
  ['before the timeout is a success', 100, 60_000, { response_status: 200, failure: null }],
  ['after the timeout is a failure', 60_000, 500, { response_status: null, failure: 'no response within 0.5 s' }],
])('a response %s', async (_, delayMs, timeoutMs, expected) => {
  const url = await site((_request, response) => {
    const timer = setTimeout(() => response.end(), delayMs);
    response.on('close', () => clearTimeout(timer));
  });
  const dispatcher = guardedAgent({ allowPrivateNetwork: true, connectTimeoutMs: 10_000 });
  onTestFinished(() => dispatcher.destroy());
  const exchange = await postEvent({ url, secret: 'whsec_x' }, '{}', dispatcher, { timeoutMs });
  expect(exchange).toMatchObject(expected);
});
