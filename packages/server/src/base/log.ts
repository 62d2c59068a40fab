import pino, { type Logger } from 'pino';
import pretty from 'pino-pretty';

/** Logs go to stderr, because stdout is for results. They never contain keys, secrets or bodies. */
export function createLog({ logFormat }: { logFormat?: 'pretty' | 'json' | undefined }, level = 'info'): Logger {
  const format = logFormat ?? (process.stderr.isTTY ? 'pretty' : 'json');
  const destination =
    format === 'pretty'
      ? pretty({ destination: 2, sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss' })
      : pino.destination({ fd: 2, sync: true });
  return pino({ level, base: null }, destination);
}
