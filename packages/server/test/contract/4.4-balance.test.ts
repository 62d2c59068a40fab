import { describe, expect, test } from 'vitest';
import { startServer } from '../kit.js';
import { sharedServer } from './kit.js';

const rates = { g5: 0.001, g6e: 0.002, g7e: 0.003 };
const { admin, newCaller } = sharedServer({ rates });

describe('4.4 GET /v1/balance', () => {
  test('returns only the balance, the minimum and the rates', async () => {
    const { status, body } = await (await newCaller(12.345678)).call('GET', '/v1/balance');
    expect(status).toBe(200);
    expect(body).toEqual({ balance_usd: 12.345678, min_balance_usd: 1, rates });
  });

  test('the balance is the account’s current one, and can be negative', async () => {
    const { accountId, call } = await newCaller(0.1);
    await newCaller(99);
    await admin().creditAccount(accountId, 0.2);
    expect((await call('GET', '/v1/balance')).body).toMatchObject({ balance_usd: 0.3 });
    await admin().creditAccount(accountId, -1);
    expect((await call('GET', '/v1/balance')).body).toMatchObject({ balance_usd: -0.7 });
  });

  test('rates are an empty map if none are set', async () => {
    expect((await (await startServer()).call('GET', '/v1/balance')).body).toMatchObject({ rates: {} });
  });
});
