import { jobType, type WebhookEvent } from '@gen3d/schema';
import type { EventRow } from '../../data/db/tables.js';
import { assetUrl } from '../../data/jobs/task.js';

/** Builds the payload of an event (docs/contract.md sections 6.1 and 6.2). It is the same for every retry. */
export function eventBody(row: EventRow, assetsUrl: string): WebhookEvent {
  const envelope = {
    event_id: row.event_id,
    user_id: row.account_id,
    timestamp: new Date(row.created_at).toISOString(),
  };
  if (row.event === 'ping') return { event: 'ping', ...envelope };
  const { job_id, status, progress, model_key, thumbnail_key, error_code, error_message } = row;
  if (job_id === null || status === null || progress === null) throw new Error(`event ${row.event_id} has no job`);
  return {
    event: 'task.updated',
    ...envelope,
    task_id: job_id,
    type: jobType,
    status,
    progress,
    ...(model_key === null ? {} : { model_urls: { glb: assetUrl(assetsUrl, model_key) } }),
    ...(thumbnail_key === null ? {} : { thumbnail_url: assetUrl(assetsUrl, thumbnail_key) }),
    ...(error_code === null ? {} : { error: { code: error_code, message: error_message ?? '' } }),
  };
}
