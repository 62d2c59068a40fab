export type {
  Balance,
  CreateJobResponse,
  JobStatus,
  ListJobsResponse,
  PingEvent,
  Task,
  TaskErrorCode,
  TaskUpdatedEvent,
  WebhookEndpoint,
  WebhookEvent,
} from '@gen3d/schema';
export {
  type EndpointHealth,
  isTerminal,
  type JobEstimate,
  jobStatuses,
  limits,
  publicTestKey,
  type SamplerSettings,
  type WebhookEvents,
} from '@gen3d/schema/rules';
export {
  type DownloadOptions,
  defaultBaseUrl,
  Gen3d,
  type Gen3dOptions,
  type GenerateOptions,
} from './client.js';
export type { RequestOptions } from './deadline.js';
export * from './errors.js';
export type { EventsOptions } from './event-stream.js';
export { type ImageInput, type PrepareImageOptions, prepareImage } from './image-input.js';
export {
  type CreateJobParams,
  createJobRequest,
  type JobList,
  type ListJobsParams,
  newIdempotencyKey,
  type RetryOptions,
} from './jobs.js';
export type { Views } from './photos.js';
export type { Sharp } from './sharp.js';
export type { Retry, RouteRequestOptions } from './transport.js';
export type { WaitOptions } from './wait.js';
export type { SetWebhookOptions } from './webhook-endpoint.js';
export {
  expressWebhookHandler,
  type WebhookHandlerOptions,
  webhookHandler,
} from './webhook-handlers.js';
export {
  signWebhook,
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookPayload,
  WebhookVerificationError,
} from './webhook-signature.js';
