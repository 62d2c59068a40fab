import { sql } from 'kysely';
import type { Db } from '../../data/db/open.js';
import { currentTime } from '../../data/db/time.js';

/** The buckets of a server: of the API, of the public test key, and of the dashboard's sessions. */
export type BucketName = 'api' | 'sandbox' | 'dashboard';

export interface RateLimit {
  perSecond: number;
  burst: number;
}

/** Their rows. */
const ids: Readonly<Record<BucketName, number>> = { api: 1, sandbox: 2, dashboard: 3 };

interface Waiting {
  resolve: (waitSeconds: number) => void;
  reject: (error: unknown) => void;
}

/**
 * The token bucket that the servers of one PostgreSQL share: a row, on the database's time.
 *
 * Requests that arrive while a statement is under way share the next one, so that each server waits for the row once a
 * round trip and not once a request.
 */
export class SharedBucket {
  readonly #db: Db;
  readonly #id: number;
  readonly #limit: RateLimit;
  #waiting: Waiting[] = [];
  #asking = false;

  constructor(db: Db, name: BucketName, limit: RateLimit) {
    this.#db = db;
    this.#id = ids[name];
    this.#limit = limit;
  }

  /** Takes a token if there is one: resolves with 0, or with the seconds until the next. */
  take(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      if (!this.#asking) void this.#ask();
    });
  }

  async #ask(): Promise<void> {
    this.#asking = true;
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        const { granted, tokens } = await takeTokens(this.#db, this.#id, this.#limit, group.length);
        const waitSeconds = (1 - tokens) / this.#limit.perSecond;
        for (const [index, { resolve }] of group.entries()) resolve(index < granted ? 0 : waitSeconds);
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#asking = false;
  }
}

/** Takes up to `count` tokens from the bucket, which is full when it is new. `tokens` is what is left. */
async function takeTokens(
  db: Db,
  id: number,
  { perSecond, burst }: RateLimit,
  count: number,
): Promise<{ granted: number; tokens: number }> {
  const now = currentTime(db);
  const elapsed = sql`greatest(0, ${now} - bucket.filled_at) / 1000.0`;
  const filled = sql`least(${burst}::float8, bucket.tokens + ${elapsed} * ${perSecond}::float8)`;
  const granted = sql`least(${count}::float8, floor(${filled}))`;
  // After waiting for the row lock, these are the values that the previous statement left; its time may be later than ours.
  const { rows } = await sql<{ granted: number; tokens: number }>`
    insert into rate_bucket as bucket (id, tokens, granted, filled_at)
    values (${id}::int, ${burst}::float8 - least(${count}::float8, ${burst}::float8), least(${count}::int, ${burst}::int), ${now})
    on conflict (id) do update set
      tokens = ${filled} - ${granted},
      granted = ${granted},
      filled_at = greatest(bucket.filled_at, ${now})
    returning granted, tokens`.execute(db);
  return rows[0]!;
}
