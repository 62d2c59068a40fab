import { createHmac } from 'node:crypto';
import { createInterface } from 'node:readline';
import { type Gen3d, limits, NotFoundError, signWebhook, type TaskUpdatedEvent, type WebhookEvent } from '@gen3d/sdk';
import { errorMessage, exitCode, Failed, failureOf } from '../../exit/failure.js';
import { count } from '../../terminal/format.js';
import { nextCommand } from '../../terminal/next-command.js';
import { canReadKeys, cross, paint, print, printJson, say, tick } from '../../terminal/terminal.js';

export interface ForwardOptions {
  readonly forwardTo: URL;
  readonly secret: string;
  readonly json: boolean | undefined;
}

const maxShownCharacters = 200;
const secretLength = 40;

/** Derives the secret that signs the forwarded events, so that a receiver needs it only once. It does not reveal the key. */
export const secretOf = (apiKey: string): string =>
  `whsec_${createHmac('sha256', apiKey).update('gen3d webhook listen').digest('base64url').slice(0, secretLength)}`;

/**
 * Reads the stream of the account's events, and posts them to a URL on this machine or its network until the signal
 * aborts. Continues after failures of the server and of the receiver.
 */
export async function forwardEvents(client: Gen3d, options: ForwardOptions, signal: AbortSignal): Promise<void> {
  const forwarder = new Forwarder(options, signal);
  let isConnected = false;
  let failures = 0;
  const onContact = () => {
    if (!isConnected) start(options, forwarder);
    isConnected = true;
    failures = 0;
  };
  const onRetry = (error: Error) => {
    failures += 1;
    // Proxies cut long responses, and no event is lost. Only a second failure in a row is worth reporting.
    if (failures === 2) say(`${paint('yellow', '•')} ${failureOf(error).message}. Retrying`);
  };
  try {
    for await (const event of client.events({ signal, onContact, onRetry })) forwarder.add(event);
  } catch (error) {
    if (error instanceof NotFoundError) {
      const message = `${client.baseUrl} does not stream events. Update gen3d on the server to this command's version`;
      throw new Failed(exitCode.failed, message, { cause: error });
    }
    if (!signal.aborted) throw error;
  }
  const { undelivered } = forwarder;
  if (undelivered > 0) say(`${count(undelivered, 'event')} not delivered`);
}

function start({ forwardTo, secret }: ForwardOptions, forwarder: Forwarder): void {
  say(`Forwarding events to ${forwardTo.href} (Ctrl-C to stop)`);
  say(`Signing secret: ${secret}`);
  resendOnEnter(forwarder);
}

function resendOnEnter(forwarder: Forwarder): void {
  if (!canReadKeys()) return;
  say('Press Enter to send failed events again, or the last event if none has failed');
  createInterface({ input: process.stdin }).on('line', () => forwarder.resend());
  // Otherwise, waiting for keys would keep the process alive.
  process.stdin.unref();
}

/** Posts the events of each job in order, and those of several jobs concurrently. */
class Forwarder {
  readonly #url: string;
  readonly #secret: string;
  readonly #json: boolean;
  readonly #signal: AbortSignal;
  /** Keeps the deliveries of a job in order: each job's promise resolves when its last delivery ends. */
  readonly #queues = new Map<string, Promise<void>>();
  /** Events that the receiver has not accepted, in order of arrival. */
  readonly #failed = new Set<TaskUpdatedEvent>();
  #lastEvent: TaskUpdatedEvent | undefined;

  constructor({ forwardTo, secret, json = false }: ForwardOptions, signal: AbortSignal) {
    this.#url = forwardTo.href;
    this.#secret = secret;
    this.#json = json;
    this.#signal = signal;
  }

  get undelivered(): number {
    return this.#failed.size;
  }

  add(event: TaskUpdatedEvent): void {
    if (this.#json) printJson(event);
    this.#lastEvent = event;
    this.#enqueue(event);
  }

  /** Sends all failed events again. Without failed events, sends the last one again. */
  resend(): void {
    const events = this.#failed.size > 0 ? [...this.#failed] : this.#lastEvent ? [this.#lastEvent] : [];
    for (const event of events) this.#enqueue(event);
    if (events.length === 0) say(`No events yet. \`${nextCommand('create PHOTO')}\` causes some`);
  }

  #enqueue(event: TaskUpdatedEvent): void {
    const { task_id: job } = event;
    const end = (this.#queues.get(job) ?? Promise.resolve()).then(() => this.#deliver(event));
    this.#queues.set(job, end);
    void end.then(() => this.#queues.get(job) === end && this.#queues.delete(job));
  }

  /** Delivers an event. Never rejects. */
  async #deliver(event: TaskUpdatedEvent): Promise<void> {
    if (this.#signal.aborted) return;
    const { accepted, description } = await this.#post(JSON.stringify(event));
    if (this.#signal.aborted) return;
    (this.#json ? say : print)(`${describeEvent(event)}  ${accepted ? tick() : cross()} ${description}`);
    if (accepted) this.#failed.delete(event);
    else this.#failed.add(event);
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
      return { accepted: false, description: errorMessage(cause) };
    }
  }
}

export function describeEvent(event: WebhookEvent): string {
  if (event.event === 'ping') return `${event.timestamp}  ping`;
  const { timestamp, task_id, status, progress, model_urls, error } = event;
  const outcome = error ? `${error.code}: ${error.message}` : (model_urls?.glb ?? '');
  return `${timestamp}  ${task_id}  ${status} ${progress} %  ${outcome}`.trimEnd();
}
