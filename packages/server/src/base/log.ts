import pino, { type Logger } from 'pino';
import pretty from 'pino-pretty';

interface LogSettings {
  logFormat?: 'pretty' | 'json' | undefined;
  logLevel?: string | undefined;
}

/** Whether the log is for people instead of programs. */
export const isLogForPeople = ({ logFormat }: LogSettings): boolean =>
  logFormat === undefined ? process.stderr.isTTY : logFormat === 'pretty';

/** Records of this level are for programs. Logs for people have one line per job. */
export const routineLevel = (settings: LogSettings): 'debug' | 'info' => (isLogForPeople(settings) ? 'debug' : 'info');

/** Logs go to stderr, because stdout is for results. They never contain keys, secrets or bodies. */
export function createLog(settings: LogSettings): Logger {
  const { logLevel: level = 'info' } = settings;
  const destination = isLogForPeople(settings)
    ? pretty({
        destination: 2,
        sync: true,
        singleLine: true,
        translateTime: 'SYS:HH:MM:ss',
        messageFormat: (record, messageKey) => sentence(record, String(record[messageKey])),
        ignore: ['pid', 'hostname', ...inSentence, ...(level === 'debug' ? [] : forPrograms)].join(),
      })
    : pino.destination({ fd: 2, sync: true });
  return pino({ level, base: null }, destination);
}

const inSentence = ['label', 'jobId', 'inferenceMs', 'code', 'reason', 'detail'];
const forPrograms = ['runner', 'attempt', 'trace_id', 'bundle'];

/**
 * Adds the fields that people look for to a record's message, such as
 * `job succeeded: mug.jpg, 01M8…, 5.8 s of inference`.
 */
function sentence(
  { label, jobId, inferenceMs, code, reason, detail }: Record<string, unknown>,
  message: string,
): string {
  const time = typeof inferenceMs === 'number' ? `${(inferenceMs / 1000).toFixed(1)} s of inference` : undefined;
  const cause = String(detail ?? '').includes(String(reason)) ? '' : detail;
  const facts = [label, jobId, time, code, reason, cause].filter(Boolean);
  const text = facts.length > 0 ? `${message}: ${facts.join(', ')}` : message;
  // Ids in requests may contain escape sequences.
  return text.replace(/\p{Cc}+/gu, ' ');
}
