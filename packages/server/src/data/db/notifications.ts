import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { isPostgres } from './dialect.js';
import type { Db } from './open.js';
import { connectionOf } from './postgres.js';

/** What processes tell each other through PostgreSQL, so that they need not wait for their next poll. */
export type News = 'job_waiting' | 'event_recorded';

const channelOf = (news: News) => `gen3d_${news}`;

const firstPauseMs = 200;
const longestPauseMs = 5_000;

/**
 * Tells the other processes of the database, soon and without a promise: they also poll. On SQLite there is nobody to tell.
 *
 * Not in the transaction that makes the news: PostgreSQL lets commits that notify only one by one to the disk. What comes
 * while a notification is under way shares the next.
 */
export class Notifier {
  readonly #db: Db;
  readonly #underWay = new Map<News, 'sent' | 'again'>();

  constructor(db: Db) {
    this.#db = db;
  }

  tell(news: News): void {
    if (!isPostgres(this.#db)) return;
    if (this.#underWay.has(news)) this.#underWay.set(news, 'again');
    else void this.#send(news);
  }

  async #send(news: News): Promise<void> {
    do {
      this.#underWay.set(news, 'sent');
      // Without a database nobody can be told, and whoever has made the news has noticed.
      await sql`select pg_notify(${channelOf(news)}, '')`.execute(this.#db).catch(() => {});
    } while (this.#underWay.get(news) === 'again');
    this.#underWay.delete(news);
  }
}

/** Listens on a connection of its own, which is made again whenever it breaks. */
export class Listener {
  readonly #url: string;
  readonly #handlers: ReadonlyMap<string, () => void>;
  readonly #stop = new AbortController();
  readonly #stopped = new Promise<void>((resolve) => this.#stop.signal.addEventListener('abort', () => resolve()));
  #running: Promise<void> = Promise.resolve();

  constructor(url: string, handlers: Partial<Record<News, () => void>>) {
    this.#url = url;
    this.#handlers = new Map(Object.entries(handlers).map(([news, handler]) => [channelOf(news as News), handler]));
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    let pauseMs = firstPauseMs;
    while (!this.#stop.signal.aborted) {
      try {
        await this.#listen(() => {
          pauseMs = firstPauseMs;
        });
      } catch {
        // Polling goes on meanwhile, and says what is wrong.
      }
      await pause(pauseMs, undefined, { signal: this.#stop.signal }).catch(() => {});
      pauseMs = Math.min(2 * pauseMs, longestPauseMs);
    }
  }

  /** Resolves or rejects when the connection is gone, or is not wanted any more. */
  async #listen(onListening: () => void): Promise<void> {
    const client = new pg.Client(connectionOf(this.#url));
    const gone = new Promise<void>((resolve) => {
      client.on('error', () => resolve());
      client.on('end', () => resolve());
    });
    client.on('notification', ({ channel }) => this.#handlers.get(channel)?.());
    try {
      await client.connect();
      for (const channel of this.#handlers.keys()) await client.query(`listen ${channel}`);
      onListening();
      // Whatever was told before is told now, once.
      for (const handler of this.#handlers.values()) handler();
      await Promise.race([gone, this.#stopped]);
    } finally {
      await client.end().catch(() => {});
    }
  }
}
