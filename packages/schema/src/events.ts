import { z } from 'zod';
import { JobStatus, ModelUrls, TaskError, Timestamp, Ulid } from './job.js';
import { jobType } from './lifecycle.js';

const envelope = { event_id: Ulid, user_id: z.string(), timestamp: Timestamp };

/** Sent on every change of a job's status or progress (docs/contract.md section 6.1). */
export const TaskUpdatedEvent = z.object({
  event: z.literal('task.updated'),
  ...envelope,
  task_id: Ulid,
  type: z.literal(jobType),
  status: JobStatus,
  progress: z.number().min(0).max(100),
  model_urls: ModelUrls.optional(),
  thumbnail_url: z.url().optional(),
  error: TaskError.optional(),
});
export type TaskUpdatedEvent = z.infer<typeof TaskUpdatedEvent>;

/** Sent by `POST /v1/webhook-endpoint/test` (docs/contract.md section 6.2). */
export const PingEvent = z.object({ event: z.literal('ping'), ...envelope });
export type PingEvent = z.infer<typeof PingEvent>;

export const WebhookEvent = z.discriminatedUnion('event', [TaskUpdatedEvent, PingEvent]);
export type WebhookEvent = z.infer<typeof WebhookEvent>;
