export * from './balance.js';
export * from './errors.js';
export * from './events.js';
export * from './ids.js';
export { ImageUrl } from './image-url.js';
export {
  CreateJobResponse,
  ImageTo3dInput,
  ImageTo3dRequest,
  JobStatus,
  ListJobsQuery,
  ListJobsResponse,
  ModelUrls,
  parseCreateJobRequest,
  Task,
  TaskError,
} from './job.js';
export * from './rules.js';
export * from './webhook-endpoint.js';
