/** The only type of job there is; others are reserved (API.md section 4.1). */
export const jobType = 'image-to-3d';

/** The statuses of a job (API.md section 3), in the order a job meets them. */
export const jobStatuses = ['PENDING', 'QUEUED', 'IN_PROGRESS', 'SUCCEEDED', 'FAILED', 'CANCELED'] as const;
type JobStatus = (typeof jobStatuses)[number];

const successors: Record<JobStatus, readonly JobStatus[]> = {
  PENDING: ['QUEUED', 'SUCCEEDED', 'FAILED', 'CANCELED'], // straight to SUCCEEDED: the test key's sample
  QUEUED: ['IN_PROGRESS', 'FAILED', 'CANCELED'],
  IN_PROGRESS: ['SUCCEEDED', 'FAILED'], // a second attempt stays here: status never goes back
  SUCCEEDED: [],
  FAILED: [],
  CANCELED: [],
};

export const canMove = (from: JobStatus, to: JobStatus): boolean => successors[from].includes(to);
export const isTerminal = (status: JobStatus): boolean => successors[status].length === 0;

/** What each progress value means (API.md section 2.1). Advisory: `status` is the source of truth. */
export const progress = { accepted: 0, preparing: 5, queued: 25, inferring: 30, inferred: 90, done: 100 } as const;
