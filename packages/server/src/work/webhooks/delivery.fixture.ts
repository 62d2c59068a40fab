import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { newAccount, silent, temporaryDatabase } from '../../../test/kit.js';
import { guardedAgent } from '../../base/net/guarded-agent.js';
import { KeyRing } from '../../base/server-key.js';
import { Endpoints, SecretBox } from '../../data/webhooks/endpoints.js';
import { Delivery, type DeliveryOptions } from './delivery.js';

/** Deliveries to receivers on loopback, which a test starts, and an account without an endpoint. */
export async function newDelivery(options: Partial<DeliveryOptions> = {}) {
  const db = await temporaryDatabase();
  const endpoints = new Endpoints(db, new SecretBox(new KeyRing([randomBytes(32)])));
  const dispatcher = guardedAgent({ allowPrivateNetwork: true, connectTimeoutMs: 10_000 });
  const delivery = new Delivery({
    db,
    endpoints,
    dispatcher,
    assetsUrl: () => 'https://cdn.example.com',
    retryDelays: [0, 0, 0, 0, 0],
    pingDelay: 60,
    log: silent,
    onOutcome: () => {},
    ...options,
  });
  onTestFinished(async () => {
    await delivery.stop();
    await dispatcher.destroy();
  });
  return { db, endpoints, delivery, account: await newAccount(db) };
}
