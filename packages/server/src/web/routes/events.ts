import { isTerminal, Ulid } from '@gen3d/schema';
import { type Request, type Response, Router } from 'express';
import { z } from 'zod';
import { nextTurn } from '../../base/next-turn.js';
import { QuotaError, quotas } from '../../data/accounts/quotas.js';
import { isUnavailable } from '../../data/db/unavailable.js';
import { findTask } from '../../data/jobs/job-store.js';
import { stateEvent, toTaskUpdated } from '../../data/jobs/task.js';
import { endOfEvents, maxEventsRead, readEvents } from '../../data/webhooks/events.js';
import { EventStream } from '../answers/event-stream.js';
import { noSuch, validated } from '../answers/responses.js';
import { callerOf, refuseSandbox } from '../guards/auth.js';
import { admissionOf, hold, inTurn } from '../guards/shares.js';
import type { Services } from './services.js';

// Streams the events of an account or of one job (docs/webhooks.md). A stream continues after the event that the client
// names in Last-Event-ID. An account's stream otherwise begins with the next event, and a job's with the first.

type Dependencies = Pick<Services, 'db' | 'eventFeed' | 'assetsUrl' | 'log' | 'shares'>;

const LastEventId = z.optional(Ulid);

function lastEventId(request: Request): string | undefined {
  return validated(LastEventId.safeParse(request.get('last-event-id')), 'Last-Event-ID');
}

/** Serves the events of the account: `/gen3d/events`. */
export function accountEventRoutes(services: Dependencies): Router {
  const { db } = services;
  return Router().get('/', refuseSandbox, async (request, response) => {
    const { accountId } = callerOf(response);
    const after = lastEventId(request) ?? (await endOfEvents(db, accountId));
    await stream(services, response, { accountId, after });
  });
}

/** Streams the events of a job, and ends after the last one. Responds 204 if the client has received that. */
export async function streamJobEvents(services: Dependencies, request: Request, response: Response): Promise<void> {
  const { db, assetsUrl } = services;
  const { accountId } = callerOf(response);
  const last = lastEventId(request);
  const task = await findTask(db, accountId, String(request.params.id));
  if (!task) throw noSuch('job');
  if (!isTerminal(task.status)) return stream(services, response, { accountId, jobId: task.id, after: last ?? '' });
  const logged = await readEvents(db, accountId, { jobId: task.id, after: '' });
  // The log of an old job is gone, and its state remains.
  const events =
    logged.length > 0 ? logged.filter(({ event_id }) => event_id > (last ?? '')) : [stateEvent(task, accountId)];
  // To a browser's EventSource, this means not to connect again.
  if (events.length === 0 || events.at(-1)?.event_id === last) return void response.status(204).end();
  const output = new EventStream(response);
  for (const event of events) await output.send(toTaskUpdated(event, assetsUrl()));
  output.end();
}

interface StreamOptions {
  accountId: string;
  jobId?: string;
  after: string;
}

const retryAfterSeconds = 5;

const tooManyStreams = () =>
  new QuotaError(
    `This account reads ${quotas.streams} event streams, which is its limit. Close one of them, or poll`,
    retryAfterSeconds,
  );

/**
 * Sends events until the client disconnects, the job has ended, or what admitted the client is not valid any more. Old
 * events are read in turn with the lists of other accounts.
 */
async function stream(
  { db, eventFeed, assetsUrl, log, shares }: Dependencies,
  response: Response,
  { accountId, jobId, after }: StreamOptions,
): Promise<void> {
  const { holder, share } = admissionOf(response);
  hold(shares.streams, holder, response, tooManyStreams);
  // A stream is not a request in progress.
  share.end();
  const subscription = eventFeed.subscribe(callerOf(response));
  try {
    const output = new EventStream(response);
    response.once('close', () => subscription.close());
    for (let position = after; !output.isClosed && !subscription.isEnded; ) {
      await nextTurn();
      const read = () => readEvents(db, accountId, { jobId, after: position });
      const events = await inTurn(shares.lists, holder, response, read, { rests: true });
      for (const event of events) {
        await output.send(toTaskUpdated(event, assetsUrl()));
        if (output.isClosed) return;
        position = event.event_id;
        if (jobId !== undefined && isTerminal(event.status)) return output.end();
      }
      if (events.length === maxEventsRead) continue;
      await subscription.changed(output.untilHeartbeat);
      if (output.untilHeartbeat > 0) continue;
      await output.heartbeat();
      // The server may have closed its database meanwhile.
      if (subscription.isEnded) break;
      // A deleted job has no last event.
      if (jobId !== undefined && !(await findTask(db, accountId, jobId))) break;
    }
    output.end();
  } catch (error) {
    // The client notices, and connects again.
    if (!response.destroyed && !isUnavailable(error)) log.error({ err: error }, 'an event stream failed');
    response.destroy();
  } finally {
    subscription.close();
  }
}
