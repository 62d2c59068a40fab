import { setTimeout as pause } from 'node:timers/promises';

/** What has not answered by then is of no use to a request, in milliseconds. */
const patienceMs = 3_000;

/** Whether the check comes out true before nobody waits for it any more. Never rejects. */
export function passesInTime(check: Promise<boolean>): Promise<boolean> {
  const tooLate = pause(patienceMs, false, { ref: false });
  return Promise.race([check.catch(() => false), tooLate]);
}
