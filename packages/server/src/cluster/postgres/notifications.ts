import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import type { Db, Notification } from '../../data/db/database.js';
import { connectionOf } from './connections.js';

const channelOf = (notification: Notification) => `gen3d_${notification}`;

const minPauseMs = 200;
const maxPauseMs = 5_000;

/**
 * Notifies the other processes of the database, without a guarantee: they also poll.
 *
 * Notifications are sent outside the transaction that causes them, because PostgreSQL serializes commits that notify.
 * Calls during a running notification share the next one.
 */
export class Notifier {
  readonly #db: Db;
  readonly #running = new Map<Notification, 'sent' | 'again'>();

  constructor(db: Db) {
    this.#db = db;
  }

  async notify(notification: Notification): Promise<void> {
    if (this.#running.has(notification)) return void this.#running.set(notification, 'again');
    do {
      this.#running.set(notification, 'sent');
      // Nothing to do about an unavailable database: the others poll.
      await sql`select pg_notify(${channelOf(notification)}, '')`.execute(this.#db).catch(() => {});
    } while (this.#running.get(notification) === 'again');
    this.#running.delete(notification);
  }
}

/** Listens on a separate connection, which it reopens whenever it breaks. */
export class Listener {
  readonly #url: string;
  readonly #handlers: ReadonlyMap<string, () => void>;
  readonly #stop = new AbortController();
  readonly #stopped = new Promise<void>((resolve) => this.#stop.signal.addEventListener('abort', () => resolve()));
  #running: Promise<void> = Promise.resolve();

  constructor(url: string, handlers: Partial<Record<Notification, () => void>>) {
    this.#url = url;
    this.#handlers = new Map(
      Object.entries(handlers).map(([notification, handler]) => [channelOf(notification as Notification), handler]),
    );
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    let pauseMs = minPauseMs;
    while (!this.#stop.signal.aborted) {
      try {
        await this.#listen(() => {
          pauseMs = minPauseMs;
        });
      } catch {
        // Polling continues meanwhile and reports the error.
      }
      await pause(pauseMs, undefined, { signal: this.#stop.signal }).catch(() => {});
      pauseMs = Math.min(2 * pauseMs, maxPauseMs);
    }
  }

  /** Resolves or rejects when the connection is lost, or after `stop()`. */
  async #listen(onListening: () => void): Promise<void> {
    const client = new pg.Client(connectionOf(this.#url));
    const lost = new Promise<void>((resolve) => {
      client.on('error', () => resolve());
      client.on('end', () => resolve());
    });
    client.on('notification', ({ channel }) => this.#handlers.get(channel)?.());
    try {
      await client.connect();
      for (const channel of this.#handlers.keys()) await client.query(`listen ${channel}`);
      onListening();
      // Call each handler once for notifications sent before this connection listened.
      for (const handler of this.#handlers.values()) handler();
      await Promise.race([lost, this.#stopped]);
    } finally {
      await client.end().catch(() => {});
    }
  }
}
