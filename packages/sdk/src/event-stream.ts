import type { TaskUpdatedEvent } from '@gen3d/schema';
import { having, isTerminal } from '@gen3d/schema/rules';
import { connectionError } from './connection-error.js';
import { withDeadline } from './deadline.js';
import { ConnectionError, Gen3dError, isTemporary } from './errors.js';
import { sleep } from './sleep.js';
import type { Transport } from './transport.js';

// Reads server-sent events. Proxies end long responses, so a broken connection is not a failure: the stream continues
// after the last event that arrived, and the server keeps events for a day. A proxy that holds a stream back until its
// end cannot be told from a dead server, except that the server always sends something at once.

export interface EventsOptions {
  /** Reads only the events of this job, from its first one on, and ends after the last one. Default: all jobs. */
  readonly jobId?: string | undefined;
  /** Continues after this event. Default: begins with the next event, or with the first one of `jobId`. */
  readonly lastEventId?: string | undefined;
  /** Ends the stream, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Called when the connection broke or the server is unavailable. The stream continues when it is back. */
  readonly onRetry?: ((error: Error) => void) | undefined;
  /** Called whenever the server has sent something: at once, and at least every 10 s also without an event. */
  readonly onContact?: (() => void) | undefined;
}

const firstByteMs = 10_000;
/** The server sends a heartbeat every 10 s. */
const silenceMs = 25_000;
const minPauseMs = 1_000;
const maxPauseMs = 30_000;

export async function* readEvents(
  transport: Transport,
  { jobId, lastEventId, signal = new AbortController().signal, onRetry, onContact }: EventsOptions,
): AsyncGenerator<TaskUpdatedEvent, void> {
  const path = jobId === undefined ? '/gen3d/events' : `/gen3d/jobs/${encodeURIComponent(jobId)}/events`;
  let position = lastEventId;
  let hasConnected = false;
  let pauseMs = minPauseMs;
  for (;;) {
    try {
      const connection = connect(transport, path, { position, signal }, () => {
        hasConnected = true;
        pauseMs = minPauseMs;
        onContact?.();
      });
      for await (const event of connection) {
        if (event === 'end') return;
        position = event.event_id;
        yield event;
        if (jobId !== undefined && isTerminal(event.status)) return;
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (!hasConnected || !isTemporary(error)) throw error;
      onRetry?.(error);
      pauseMs = Math.max(pauseMs, error.retryAfterMs ?? 0);
    }
    await sleep(pauseMs * (1 + 0.2 * Math.random()), signal);
    pauseMs = Math.min(maxPauseMs, 2 * pauseMs);
  }
}

const isEvent = having<TaskUpdatedEvent>({ event_id: 'string', task_id: 'string', status: 'string' });

/** @throws {Gen3dError} invalid_response. Not a `ServerError`, which is temporary: the same event would come again. */
function eventOf(data: string): TaskUpdatedEvent {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch {}
  if (isEvent(event)) return event;
  const problem = 'The stream contains something other than a gen3d event. Check that it comes from a gen3d server';
  throw new Gen3dError('invalid_response', problem);
}

/** Yields the events of one connection until that ends, and `end` if the server has no further events. */
async function* connect(
  transport: Transport,
  path: string,
  { position, signal }: { position: string | undefined; signal: AbortSignal },
  onContact: () => void,
): AsyncGenerator<TaskUpdatedEvent | 'end', void> {
  const url = transport.url(path);
  const silent = (ms: number) =>
    new ConnectionError('connection_failed', `${url} has sent nothing for ${ms / 1_000} s`);
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  try {
    const open = (signal: AbortSignal) => transport.openStream(url, position, signal);
    const response = await withDeadline({ signal, timeoutMs: firstByteMs }, silent, open);
    reader = response.status === 204 ? undefined : response.body?.getReader();
    if (!reader) return void (yield 'end');
    const read = () => (reader as ReadableStreamDefaultReader<Uint8Array>).read();
    const decoder = new TextDecoder();
    for (let text = '', timeoutMs = firstByteMs; ; timeoutMs = silenceMs) {
      const { done, value } = await withDeadline({ signal, timeoutMs }, silent, read);
      if (done) return;
      onContact();
      const blocks = (text + decoder.decode(value, { stream: true })).split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        // Others are comments. The server writes the JSON of an event on one line, with the `event_id` as its id.
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (data !== undefined) yield eventOf(data);
      }
    }
  } catch (error) {
    throw connectionError(url, error, reader !== undefined);
  } finally {
    void reader?.cancel().catch(() => {});
  }
}
