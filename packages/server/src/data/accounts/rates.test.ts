import { describe, expect, test } from 'vitest';
import { temporaryDatabase } from '../../../test/kit.js';
import { publishRates, rateOf } from './rates.js';

describe('a runner without rates in its settings', () => {
  test('charges nothing if no server has published any', async () => {
    const db = await temporaryDatabase();
    expect(await rateOf(db, { rates: undefined }, 'cpu')).toBe(0);
  });

  test('charges the rates of the server that started last', async () => {
    const db = await temporaryDatabase();
    await publishRates(db, { g6e: 0.002, old: 1 });
    await publishRates(db, { g6e: 0.0035 });
    expect(await rateOf(db, { rates: undefined }, 'g6e')).toBe(0.0035);
    await expect(rateOf(db, { rates: undefined }, 'old')).rejects.toThrow('"old"');
    await publishRates(db, {});
    expect(await rateOf(db, { rates: undefined }, 'g6e')).toBe(0);
  });
});

test('a runner with rates in its settings charges those, and refuses an instance without a rate', async () => {
  const db = await temporaryDatabase();
  await publishRates(db, { g6e: 0.002, t4: 0.001 });
  expect(await rateOf(db, { rates: { g6e: 0.5 } }, 'g6e')).toBe(0.5);
  await expect(rateOf(db, { rates: { g6e: 0.5 } }, 't4')).rejects.toThrow('Set GEN3D_INSTANCE');
});
