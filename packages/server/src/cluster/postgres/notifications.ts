import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { coalesced } from '../../base/coalesced.js';
import type { Db, Notification } from '../../data/db/database.js';
import { connectionOf } from './connections.js';

const channelOf = (notification: Notification) => `gen3d_${notification}`;

const minPauseMs = 200;
const maxPauseMs = 5_000;

/**
 * Notifies the other processes of the database, without a guarantee: they also poll.
 *
 * Notifications are sent outside the transaction that causes them, because PostgreSQL serializes commits that notify.
 */
export class Notifier {
  readonly #db: Db;
  readonly #senders = new Map<Notification, () => Promise<void>>();

  constructor(db: Db) {
    this.#db = db;
  }

  notify(notification: Notification): Promise<void> {
    const send = this.#senders.get(notification) ?? coalesced(() => this.#send(notification));
    this.#senders.set(notification, send);
    return send();
  }

  async #send(notification: Notification): Promise<void> {
    // Nothing to do about an unavailable database: the others poll.
    await sql`select pg_notify(${channelOf(notification)}, '')`.execute(this.#db).catch(() => {});
  }
}

/** Listens on a separate connection, which it reopens whenever it breaks, until the returned function is called. */
export function listen(url: string, handlers: Partial<Record<Notification, () => void>>): () => Promise<void> {
  const stop = new AbortController();
  const stopped = once(stop.signal, 'abort');
  const byChannel = new Map(
    Object.entries(handlers).map(([notification, handler]) => [channelOf(notification as Notification), handler]),
  );
  const run = async () => {
    for (let pauseMs = minPauseMs; !stop.signal.aborted; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
      const onListening = () => {
        pauseMs = minPauseMs;
      };
      // Polling continues meanwhile and reports the error.
      await listenOnce(url, byChannel, stopped, onListening).catch(() => {});
      await pause(pauseMs, undefined, { signal: stop.signal }).catch(() => {});
    }
  };
  const running = run();
  return () => {
    stop.abort();
    return running;
  };
}

/** Resolves or rejects when the connection is lost, or `stopped` resolves. */
async function listenOnce(
  url: string,
  handlers: ReadonlyMap<string, () => void>,
  stopped: Promise<unknown>,
  onListening: () => void,
): Promise<void> {
  const client = new pg.Client(connectionOf(url));
  const lost = new Promise<void>((resolve) => {
    client.on('error', () => resolve());
    client.on('end', () => resolve());
  });
  client.on('notification', ({ channel }) => handlers.get(channel)?.());
  try {
    await client.connect();
    for (const channel of handlers.keys()) await client.query(`listen ${channel}`);
    onListening();
    // Call each handler once for notifications sent before this connection listened.
    for (const handler of handlers.values()) handler();
    await Promise.race([lost, stopped]);
  } finally {
    await client.end().catch(() => {});
  }
}
