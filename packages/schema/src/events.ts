import * as z from 'zod/mini';
import { ModelUrls, Task, TaskError, Timestamp, Ulid } from './task.js';

const envelope = { event_id: Ulid, user_id: z.string(), timestamp: Timestamp };
const { task_id, type, status, progress } = Task.shape;

/** Sent on every change of a job's status or progress (docs/contract.md section 6.1). */
export const TaskUpdatedEvent = z.object({
  event: z.literal('task.updated'),
  ...envelope,
  task_id,
  type,
  status,
  progress,
  model_urls: z.optional(ModelUrls),
  thumbnail_url: z.optional(z.url()),
  error: z.optional(TaskError),
});
export type TaskUpdatedEvent = z.infer<typeof TaskUpdatedEvent>;

/** Sent by `POST /v1/webhook-endpoint/test` (docs/contract.md section 6.2). */
export const PingEvent = z.object({ event: z.literal('ping'), ...envelope });
export type PingEvent = z.infer<typeof PingEvent>;

export const WebhookEvent = z.discriminatedUnion('event', [TaskUpdatedEvent, PingEvent]);
export type WebhookEvent = z.infer<typeof WebhookEvent>;
