export * from './balance.js';
export * from './errors.js';
export * from './events.js';
export { ImageUrl } from './image-url.js';
export {
  type CreateJobRequest,
  CreateJobResponse,
  IdempotencyKey,
  ImageTo3dInput,
  ImageTo3dRequest,
  isImageTo3d,
  JobStatus,
  ListJobsQuery,
  ListJobsResponse,
  ModelUrls,
  parseCreateJobRequest,
  Task,
  TaskError,
  Timestamp,
  Ulid,
} from './job.js';
export { cleanLabel } from './label.js';
export * from './rules.js';
export * from './text.js';
export * from './webhook-endpoint.js';
