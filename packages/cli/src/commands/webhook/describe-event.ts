import type { WebhookEvent } from '@gen3d/sdk';

/** One line about an event. */
export function describeEvent(event: WebhookEvent): string {
  if (event.event === 'ping') return `${event.timestamp}  ping`;
  const { timestamp, task_id, status, progress, model_urls, error } = event;
  const outcome = error ? `${error.code}: ${error.message}` : (model_urls?.glb ?? '');
  return `${timestamp}  ${task_id}  ${status} ${progress} %  ${outcome}`.trimEnd();
}
