import { createHmac } from 'node:crypto';
import { type Gen3d, limits, NotFoundError, signWebhook, type WebhookEvent } from '@gen3d/sdk';
import { errorMessage, exitCode, Failed, failureOf } from '../../exit/failure.js';
import { cross, paint, print, printJson, say, tick } from '../../terminal/terminal.js';

export interface ForwardOptions {
  readonly forwardTo: URL;
  readonly secret: string;
  readonly json: boolean | undefined;
}

const maxShownCharacters = 200;
const secretLength = 40;

/** Derives the secret that signs forwarded events, so a receiver needs it only once. It does not reveal the key. */
export const secretOf = (apiKey: string): string =>
  `whsec_${createHmac('sha256', apiKey).update('gen3d webhook listen').digest('base64url').slice(0, secretLength)}`;

/**
 * Reads the stream of the account's events, and posts each of them once to a URL on this machine or its network until
 * the signal aborts. Prints what the receiver does not accept. Continues after failures of the server and of the
 * receiver.
 */
export async function forwardEvents(client: Gen3d, options: ForwardOptions, signal: AbortSignal): Promise<void> {
  const { forwardTo, secret, json } = options;
  let isConnected = false;
  let failures = 0;
  const onContact = () => {
    if (!isConnected) say(`Forwarding events to ${forwardTo.href} (Ctrl-C to stop)\nSigning secret: ${secret}`);
    isConnected = true;
    failures = 0;
  };
  const onRetry = (error: Error) => {
    failures += 1;
    // Proxies cut long responses, and no event is lost. Only a second failure in a row is worth reporting.
    if (failures === 2) say(`${paint('yellow', '•')} ${failureOf(error).message}. Retrying`);
  };
  try {
    // One after the other, because the events of a job have an order.
    for await (const event of client.events({ signal, onContact, onRetry })) {
      if (json) printJson(event);
      const outcome = await post(JSON.stringify(event), options, signal);
      if (!signal.aborted) (json ? say : print)(`${describeEvent(event)}  ${outcome}`);
    }
  } catch (error) {
    if (error instanceof NotFoundError) {
      const message = `${client.baseUrl} does not stream events. Update gen3d on the server to this command's version`;
      throw new Failed(exitCode.failed, message, { cause: error });
    }
    if (!signal.aborted) throw error;
  }
}

/**
 * Makes one attempt, as the server would: any 2xx within 10 seconds is success, and redirects are not followed.
 * Describes the outcome, and never rejects.
 */
async function post(payload: string, { forwardTo, secret }: ForwardOptions, signal: AbortSignal): Promise<string> {
  const timeout = AbortSignal.timeout(limits.webhookTimeoutMs);
  const startedAt = performance.now();
  try {
    const response = await fetch(forwardTo, {
      method: 'POST',
      body: payload,
      headers: {
        ...(await signWebhook({ payload, secret })),
        'content-type': 'application/json',
        'user-agent': 'gen3d-webhooks',
      },
      redirect: 'manual',
      signal: AbortSignal.any([signal, timeout]),
    });
    const status = `${response.status} in ${Math.round(performance.now() - startedAt)} ms`;
    const text = (await response.text()).trim().replaceAll(/\s+/g, ' ').slice(0, maxShownCharacters);
    if (response.ok) return `${tick()} ${status}`;
    return `${cross()} ${text === '' ? status : `${status}: ${text}`}`;
  } catch (error) {
    if (timeout.aborted) return `${cross()} no response within ${limits.webhookTimeoutMs / 1_000} s`;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return `${cross()} ${errorMessage(cause)}`;
  }
}

export function describeEvent(event: WebhookEvent): string {
  if (event.event === 'ping') return `${event.timestamp}  ping`;
  const { timestamp, task_id, status, progress, model_urls, error } = event;
  const outcome = error ? `${error.code}: ${error.message}` : (model_urls?.glb ?? '');
  return `${timestamp}  ${task_id}  ${status} ${progress} %  ${outcome}`.trimEnd();
}
