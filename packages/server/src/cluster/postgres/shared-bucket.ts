import { type RawBuilder, sql } from 'kysely';
import { coalesced } from '../../base/coalesced.js';
import { type BucketName, type Db, debtMs, type RateLimit } from '../../data/db/database.js';
import { currentTime } from '../../data/db/time.js';

/** Ids of the buckets' rows. */
const rowIds: Readonly<Record<BucketName, number>> = { api: 1, sandbox: 2, dashboard: 3 };

interface Waiting {
  overdraft: number;
  resolve: (waitSeconds: number) => void;
  reject: (error: unknown) => void;
}

/**
 * A token bucket that all servers of a PostgreSQL database share: a row, which uses the database's clock.
 *
 * Requests that arrive while a statement runs share the next one, so that a server locks the row once per round trip,
 * not once per request.
 */
export class SharedBucket {
  readonly #db: Db;
  readonly #id: number;
  readonly #limit: RateLimit;
  readonly #serve = coalesced(() => this.#takeForWaiting());
  #waiting: Waiting[] = [];

  constructor(db: Db, name: BucketName, limit: RateLimit) {
    this.#db = db;
    this.#id = rowIds[name];
    this.#limit = limit;
  }

  /** Takes a token and resolves to 0, or to the seconds until there is one. The bucket may owe `overdraft`. */
  take(overdraft: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ overdraft, resolve, reject });
      void this.#serve();
    });
  }

  async #takeForWaiting(): Promise<void> {
    // Those that need the fewest tokens come first, so the ones that get a token are the first `granted`.
    const group = this.#waiting.sort((a, b) => b.overdraft - a.overdraft);
    this.#waiting = [];
    try {
      const needed = group.map(({ overdraft }, index) => index + 1 - overdraft);
      const { granted, tokens } = await takeTokens(this.#db, this.#id, this.#limit, needed);
      for (const [index, { overdraft, resolve }] of group.entries()) {
        resolve(index < granted ? 0 : (1 - overdraft - tokens) / this.#limit.perSecond);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}

/**
 * Takes one token for each number in `needed` that the bucket contains before. The numbers rise. A new bucket is full.
 * `tokens` is the number left.
 */
async function takeTokens(
  db: Db,
  id: number,
  { perSecond, burst }: RateLimit,
  needed: readonly number[],
): Promise<{ granted: number; tokens: number }> {
  const now = currentTime(db);
  const elapsedMs = sql`greatest(0, ${now} - bucket.filled_at)`;
  const before = sql`case when ${elapsedMs} < ${debtMs}::int then bucket.tokens else greatest(0, bucket.tokens) end`;
  const filled = sql`least(${burst}::float8, ${before} + ${elapsedMs} / 1000.0 * ${perSecond}::float8)`;
  const grantedOf = (tokens: RawBuilder<unknown>) =>
    sql`(select count(*) from unnest(${needed}::float8[]) as needed where needed <= ${tokens})`;
  const granted = grantedOf(filled);
  const firstGranted = grantedOf(sql`${burst}::float8`);
  // After waiting for the row lock, use the values that the previous statement committed. Its time may be later than
  // ours.
  const { rows } = await sql<{ granted: number; tokens: number }>`
    insert into rate_bucket as bucket (id, tokens, granted, filled_at)
    values (${id}::int, ${burst}::float8 - ${firstGranted}, ${firstGranted}, ${now})
    on conflict (id) do update set
      tokens = ${filled} - ${granted},
      granted = ${granted},
      filled_at = greatest(bucket.filled_at, ${now})
    returning granted, tokens`.execute(db);
  return rows[0]!;
}
