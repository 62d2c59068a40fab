export * from './balance.js';
export * from './errors.js';
export * from './events.js';
export * from './ids.js';
export { ImageUrl, inlineImageTypes, parseImageDataUri } from './image-url.js';
export {
  CreateJobResponse,
  canMove,
  ImageTo3dInput,
  ImageTo3dRequest,
  isTerminal,
  JobStatus,
  jobType,
  ListJobsQuery,
  ListJobsResponse,
  ModelUrls,
  parseCreateJobRequest,
  progress,
  Task,
  TaskError,
} from './job.js';
export { limits } from './limits.js';
export * from './webhook-endpoint.js';
