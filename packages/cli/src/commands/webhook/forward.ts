import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ConnectionError,
  type Gen3d,
  limits,
  NotFoundError,
  RateLimitError,
  ServerError,
  signWebhook,
  type WebhookEvent,
} from '@gen3d/sdk';
import { exitCode, Failed, failureOf } from '../../exit/failure.js';
import { count, duration } from '../../terminal/format.js';
import { nextCommand } from '../../terminal/next-command.js';
import { canReadKeys, cross, paint, print, printJson, say, tick } from '../../terminal/terminal.js';

export interface ForwardOptions {
  readonly forwardTo: URL;
  /** Default: the secret that the server derives for the account's listeners. */
  readonly secret: string | undefined;
  readonly json: boolean | undefined;
}

/** The response of `POST /gen3d/webhook-events` (docs/webhooks.md). */
interface PollResponse {
  readonly events: readonly WebhookEvent[];
  readonly listening_since: string;
  readonly secret: string;
  readonly retry_delays_seconds: readonly number[];
}

const pollMs = 1_000;
/** Each retry's pause varies by this fraction, like those of the server. */
const jitter = 0.2;
const maxShownCharacters = 200;

/**
 * Polls the server for the account's events, and posts them to a URL on this machine or its network until the signal
 * aborts. Continues after failures of the server and of the receiver.
 */
export async function forwardEvents(client: Gen3d, options: ForwardOptions, signal: AbortSignal): Promise<void> {
  const listener = randomUUID();
  let forwarder: Forwarder | undefined;
  let since: string | undefined;
  let acknowledged: string[] = [];
  let isReachable = true;
  while (!signal.aborted) {
    try {
      const poll = await pollEvents(client, { listener, acknowledged }, signal);
      if (!forwarder) {
        forwarder = new Forwarder(options, poll, signal);
        resendOnEnter(forwarder);
      }
      if (since !== undefined && since !== poll.listening_since) {
        say(`warning: Events before ${poll.listening_since} may be missing, because the server could not be reached`);
      }
      since = poll.listening_since;
      isReachable = true;
      acknowledged = poll.events.map(({ event_id }) => event_id);
      for (const event of poll.events) forwarder.add(event);
      // After events, the next poll follows immediately: it acknowledges them, and there may be more.
      if (poll.events.length === 0) await sleep(pollMs, undefined, { signal });
    } catch (error) {
      if (signal.aborted) break;
      if (!forwarder || !isTemporary(error)) throw error;
      if (isReachable) say(`${paint('yellow', '•')} ${failureOf(error).message}. Retrying`);
      isReachable = false;
      await sleep(pollMs, undefined, { signal }).catch(() => {});
    }
  }
  const { undelivered = 0 } = forwarder ?? {};
  if (undelivered > 0) say(`${count(undelivered, 'event')} not delivered`);
}

function resendOnEnter(forwarder: Forwarder): void {
  if (!canReadKeys()) return;
  say('Press Enter to send failed events again, or the last event if none has failed');
  createInterface({ input: process.stdin }).on('line', () => forwarder.resend());
  // Otherwise, waiting for keys would keep the process alive.
  process.stdin.unref();
}

const isTemporary = (error: unknown) =>
  [ConnectionError, RateLimitError, ServerError].some((type) => error instanceof type);

async function pollEvents(
  client: Gen3d,
  json: { listener: string; acknowledged: readonly string[] },
  signal: AbortSignal,
): Promise<PollResponse> {
  try {
    const response = await client.request('post', '/gen3d/webhook-events', { json, repeatable: true, signal });
    return response as PollResponse;
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    const message = `${client.baseUrl} cannot forward events. Update gen3d on the server to this command's version`;
    throw new Failed(exitCode.failed, message, { cause: error });
  }
}

/**
 * Posts the events of each job in order, and those of several jobs concurrently. Retries may arrive after later events,
 * as with the server's deliveries.
 */
class Forwarder {
  readonly #url: string;
  readonly #secret: string;
  readonly #json: boolean;
  readonly #retryDelays: readonly number[];
  readonly #signal: AbortSignal;
  /** Keeps the deliveries of a job in order: each job's promise resolves when its last delivery ends. */
  readonly #queues = new Map<string, Promise<void>>();
  /** Events that the receiver has not accepted, in order of arrival, each with the timer of its next retry. */
  readonly #undelivered = new Map<WebhookEvent, 'due' | NodeJS.Timeout | 'no retries left'>();
  #lastEvent: WebhookEvent | undefined;

  constructor({ forwardTo, secret, json = false }: ForwardOptions, poll: PollResponse, signal: AbortSignal) {
    this.#url = forwardTo.href;
    this.#secret = secret ?? poll.secret;
    this.#json = json;
    this.#retryDelays = poll.retry_delays_seconds;
    this.#signal = signal;
    say(`Forwarding events to ${this.#url} (Ctrl-C to stop)`);
    say(`Signing secret: ${this.#secret}`);
  }

  /** Counts the events that the receiver has not accepted, including those without retries left. */
  get undelivered(): number {
    return this.#undelivered.size;
  }

  add(event: WebhookEvent): void {
    if (this.#json) printJson(event);
    this.#lastEvent = event;
    this.#enqueue(event, 1);
  }

  /** Sends all failed events again now, with a new series of retries. Without failed events, sends the last one again. */
  resend(): void {
    const events = [...this.#undelivered].filter(([, state]) => state !== 'due').map(([event]) => event);
    if (this.#undelivered.size === 0 && this.#lastEvent) events.push(this.#lastEvent);
    for (const event of events) this.#enqueue(event, 1);
    if (!this.#lastEvent) say(`No events yet. \`${nextCommand('create PHOTO')}\` causes some`);
  }

  #enqueue(event: WebhookEvent, attempt: number): void {
    const state = this.#undelivered.get(event);
    if (typeof state === 'object') clearTimeout(state);
    this.#undelivered.set(event, 'due');
    const job = event.event === 'ping' ? '' : event.task_id;
    const end = (this.#queues.get(job) ?? Promise.resolve()).then(() => this.#deliver(event, attempt));
    this.#queues.set(job, end);
    void end.then(() => this.#queues.get(job) === end && this.#queues.delete(job));
  }

  /** Delivers an event. Never rejects. */
  async #deliver(event: WebhookEvent, attempt: number): Promise<void> {
    if (this.#signal.aborted) return;
    const { accepted, description } = await this.#post(JSON.stringify(event));
    if (this.#signal.aborted) return;
    const delay = this.#retryDelays[attempt - 1];
    const pauseMs = delay === undefined ? undefined : 1_000 * delay * (1 + jitter * (2 * Math.random() - 1));
    const next = pauseMs === undefined ? 'no retries left' : `retrying in ${duration(pauseMs)}`;
    const outcome = accepted ? `${tick()} ${description}` : `${cross()} ${description}, ${next}`;
    (this.#json ? say : print)(`${describeEvent(event)}  ${outcome}`);
    const retry = () => this.#enqueue(event, attempt + 1);
    if (accepted) this.#undelivered.delete(event);
    else this.#undelivered.set(event, pauseMs === undefined ? 'no retries left' : setTimeout(retry, pauseMs).unref());
  }

  /** Makes one attempt, as the server would: any 2xx within 10 seconds is success, and redirects are not followed. */
  async #post(payload: string): Promise<{ accepted: boolean; description: string }> {
    const timeout = AbortSignal.timeout(limits.webhookTimeoutMs);
    const startedAt = performance.now();
    try {
      const response = await fetch(this.#url, {
        method: 'POST',
        body: payload,
        headers: {
          ...(await signWebhook({ payload, secret: this.#secret })),
          'content-type': 'application/json',
          'user-agent': 'gen3d-webhooks',
        },
        redirect: 'manual',
        signal: AbortSignal.any([this.#signal, timeout]),
      });
      const status = `${response.status} in ${Math.round(performance.now() - startedAt)} ms`;
      const text = (await response.text()).trim().replaceAll(/\s+/g, ' ').slice(0, maxShownCharacters);
      return { accepted: response.ok, description: response.ok || text === '' ? status : `${status}: ${text}` };
    } catch (error) {
      if (timeout.aborted)
        return { accepted: false, description: `no response within ${limits.webhookTimeoutMs / 1_000} s` };
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      return { accepted: false, description: cause instanceof Error ? cause.message : String(cause) };
    }
  }
}

/** Describes an event in one line. */
export function describeEvent(event: WebhookEvent): string {
  if (event.event === 'ping') return `${event.timestamp}  ping`;
  const { timestamp, task_id, status, progress, model_urls, error } = event;
  const outcome = error ? `${error.code}: ${error.message}` : (model_urls?.glb ?? '');
  return `${timestamp}  ${task_id}  ${status} ${progress} %  ${outcome}`.trimEnd();
}
