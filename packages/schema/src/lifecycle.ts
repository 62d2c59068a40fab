/** No other job type is supported. The others are reserved (docs/contract.md section 4.1). */
export const jobType = 'image-to-3d';

/** A job's statuses, in the order in which it passes through them (docs/contract.md section 3). */
export const jobStatuses = ['PENDING', 'QUEUED', 'IN_PROGRESS', 'SUCCEEDED', 'FAILED', 'CANCELED'] as const;
type JobStatus = (typeof jobStatuses)[number];

const successors: Record<JobStatus, readonly JobStatus[]> = {
  PENDING: ['QUEUED', 'SUCCEEDED', 'FAILED', 'CANCELED'], // directly to SUCCEEDED with the public test key
  QUEUED: ['IN_PROGRESS', 'FAILED', 'CANCELED'],
  IN_PROGRESS: ['SUCCEEDED', 'FAILED', 'CANCELED'], // a second attempt keeps this status
  SUCCEEDED: [],
  FAILED: [],
  CANCELED: [],
};

export const canMove = (from: JobStatus, to: JobStatus): boolean => successors[from].includes(to);
export const isTerminal = (status: JobStatus): boolean => successors[status].length === 0;

/** A job's progress at each step (docs/contract.md section 2.1). Only advisory: `status` is the source of truth. */
export const progress = { accepted: 0, preparing: 5, queued: 25, inferring: 30, inferred: 90, done: 100 } as const;
