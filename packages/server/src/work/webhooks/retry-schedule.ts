import { after, type Time } from '../../data/db/time.js';

/** Each pause is varied by this much, so that receivers which failed together do not come back together. */
const jitter = 0.2;

/**
 * When a delivery that has failed `attempts` times is due again, in milliseconds since 1970; undefined when its retries are
 * used up. `delays` are the pauses before each retry, in seconds.
 */
export function retryAt(
  delays: readonly number[],
  attempts: number,
  now: Time,
  random: () => number = Math.random,
): Time | undefined {
  const delay = delays[attempts - 1];
  return delay === undefined ? undefined : after(now, delay * 1_000 * (1 + jitter * (2 * random() - 1)));
}
