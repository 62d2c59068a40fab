import { z } from 'zod';
import type { TaskErrorCode } from './errors.js';
import { ImageUrl } from './image-url.js';
import { jobStatuses, jobType } from './lifecycle.js';
import { limits } from './limits.js';
import { characterCount, isWellFormed, notWellFormed } from './text.js';

/** A ULID: 26 characters of Crockford's base 32, sortable by creation time. The first character is at most 7. */
export const Ulid = z.string().regex(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/, 'must be a ULID (26 characters)');

/** ISO 8601 in UTC, as `Date.prototype.toISOString` writes it. */
export const Timestamp = z.iso.datetime();

export const JobStatus = z.enum(jobStatuses);
export type JobStatus = z.infer<typeof JobStatus>;

export const ModelUrls = z.object({ glb: z.url() });

export const TaskError = z.object({ code: z.string(), message: z.string() });
export type TaskError = { code: TaskErrorCode; message: string };

/** The task object (docs/contract.md section 2.1). */
export const Task = z.object({
  task_id: Ulid,
  type: z.literal(jobType),
  status: JobStatus,
  progress: z.number().min(0).max(100),
  model_urls: ModelUrls.nullish(),
  thumbnail_url: z.url().nullish(),
  error: TaskError.nullish(),
  created_at: Timestamp,
  finished_at: Timestamp.nullable(),
});
export type Task = z.infer<typeof Task>;

/** `input` of an image-to-3d job. */
export const ImageTo3dInput = z.object({
  image_urls: z.array(ImageUrl).length(limits.imageUrls, `must contain exactly ${limits.imageUrls} image`),
});
export type ImageTo3dInput = z.infer<typeof ImageTo3dInput>;

const { min: minKeyLength, max: maxKeyLength } = limits.idempotencyKeyLength;

/** Length is counted in characters (code points): 256 emoji fit as well as 256 letters. */
export const IdempotencyKey = z
  .string()
  .refine((key) => key.length >= minKeyLength && (key.length <= maxKeyLength || fitsInCharacters(key)), {
    error: `must have ${minKeyLength} to ${maxKeyLength} characters`,
  })
  .refine(isWellFormed, notWellFormed);

/** Counts the characters only of keys that may fit. A code point has at most two UTF-16 units. */
const fitsInCharacters = (key: string) => key.length <= 2 * maxKeyLength && characterCount(key) <= maxKeyLength;

/** Fields of the body of `POST /v1/jobs` that every job type has. */
const jobRequestFields = {
  options: z.unknown().optional().describe('Accepted for forward compatibility; has no effect'),
  idempotency_key: IdempotencyKey.optional().describe(
    'Repeating a key returns the original job instead of creating another one',
  ),
};

export const ImageTo3dRequest = z.object({ type: z.literal(jobType), input: ImageTo3dInput, ...jobRequestFields });
export type ImageTo3dRequest = z.infer<typeof ImageTo3dRequest>;

/**
 * A job of a reserved type. Any input is accepted, and the job fails during processing (docs/contract.md section 4.1).
 */
export const ReservedTypeRequest = z.object({
  type: z
    .string()
    .refine((type) => type !== jobType)
    .refine(isWellFormed, notWellFormed),
  input: z.record(z.string(), z.unknown()),
  ...jobRequestFields,
});

export type CreateJobRequest = ImageTo3dRequest | z.infer<typeof ReservedTypeRequest>;
export const isImageTo3d = (request: CreateJobRequest): request is ImageTo3dRequest => request.type === jobType;

const typeOf = z.object({ type: z.string() });

/** Parses the body of `POST /v1/jobs`. The path of each issue names the invalid field. */
export function parseCreateJobRequest(body: unknown): z.ZodSafeParseResult<CreateJobRequest> {
  const type = typeOf.safeParse(body);
  // A union would report the issues of both branches. Choosing the branch first gives one message per mistake.
  if (!type.success || type.data.type === jobType) return ImageTo3dRequest.safeParse(body);
  return ReservedTypeRequest.safeParse(body);
}

export const CreateJobResponse = z.object({ job_id: Ulid });
export type CreateJobResponse = z.infer<typeof CreateJobResponse>;

/** Query of `GET /v1/jobs`. Numbers are text. */
export const ListJobsQuery = z.object({
  status: JobStatus.optional(),
  limit: z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(limits.pageSize.min).max(limits.pageSize.max))
    .default(limits.pageSize.default),
  cursor: z.string().optional(),
});
export type ListJobsQuery = z.infer<typeof ListJobsQuery>;

/** `next_cursor` is absent on the last page. */
export const ListJobsResponse = z.object({ jobs: z.array(Task), next_cursor: z.string().optional() });
export type ListJobsResponse = z.infer<typeof ListJobsResponse>;
